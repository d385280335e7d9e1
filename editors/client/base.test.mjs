// The base protocol, byte by byte.
import assert from 'node:assert/strict';
import test from 'node:test';
import { frame, initialize, startRaw } from './server.mjs';

const call = (id, method, params) => ({ jsonrpc: '2.0', id, method, params });

test('one byte at a time, with Content-Type, odd case and multibyte text', async (t) => {
  const server = startRaw(t);
  const id = 'ünï-日本語-😀';
  const params = { ...initialize, clientInfo: { name: 'Größe 😀' } };
  const header = 'content-type: application/vscode-jsonrpc; charset=utf-8\r\nX-Other: 1\r\n';
  for (const byte of frame(call(id, 'initialize', params), header)) {
    await server.write(Buffer.from([byte]));
  }
  const reply = await server.response(id);
  assert.equal(reply.result.serverInfo.name, 'hexapla');
});

test('two frames in one write; line feeds alone; a byte order mark', async (t) => {
  const server = startRaw(t);
  const second = frame(`\ufeff${JSON.stringify(call(2, 'hexapla/instructions/get', {}))}`, '', '\n');
  await server.write(Buffer.concat([frame(call(1, 'initialize', initialize)), second]));
  assert.ok((await server.response(1)).result.capabilities);
  assert.match((await server.response(2)).result.text, /hexapla/);
});

test('a body that is not JSON is answered with id null and the connection stays', async (t) => {
  const server = startRaw(t);
  await server.write(Buffer.concat([frame('{bad'), frame(call(2, 'initialize', initialize))]));
  const refused = await server.message((m) => m.error, 'error');
  assert.equal(refused.error.code, -32700);
  assert.equal(refused.error.data.kind, 'parse');
  assert.ok('id' in refused && refused.id === null, 'id must be there and null');
  assert.ok((await server.response(2)).result);
});

test('requests that are no requests', async (t) => {
  const server = startRaw(t);
  await server.write(frame(call(1, 'hexapla/session/list', {})));
  assert.equal((await server.response(1)).error.code, -32002);
  await server.write(frame({ id: 2, method: 'initialize' }));
  assert.equal((await server.response(2)).error.data.kind, 'invalid_request');
  await server.write(frame(call(3, 'initialize', initialize)));
  await server.response(3);
  await server.write(frame(call(4, 'initialize', initialize)));
  assert.equal((await server.response(4)).error.code, -32600);
  await server.write(frame(call(5, 'hexapla/session/list', [1])));
  assert.equal((await server.response(5)).error.code, -32602);
  await server.write(frame(call(6, '$/nothing', {})));
  assert.equal((await server.response(6)).error.code, -32601);
  await server.write(frame('{"jsonrpc":"2.0","id":1.5,"method":"hexapla/session/list"}'));
  assert.equal((await server.message((m) => m.error?.data.kind === 'invalid_id', 'invalid_id')).id, null);
  await server.write(frame('{"jsonrpc":"2.0","method":"nobody/listens"}'));
  await server.write(frame(call(7, 'shutdown')));
  assert.equal((await server.response(7)).result, null);
  await server.write(frame(call(8, 'hexapla/instructions/get', {})));
  assert.equal((await server.response(8)).error.data.kind, 'shutting_down');
});

test('a frame of the wrong length does not end the connection', async (t) => {
  const server = startRaw(t);
  const broken = Buffer.from('Content-Length: 5\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"x"}');
  await server.write(Buffer.concat([broken, frame(call(2, 'initialize', initialize))]));
  assert.ok((await server.response(2)).result);
});

test('exit without shutdown: code 1', async (t) => {
  const server = startRaw(t);
  await server.write(frame({ jsonrpc: '2.0', method: 'exit' }));
  assert.deepEqual(await server.ended(), { code: 1, signal: null });
});

test('shutdown and exit: code 0', async (t) => {
  const server = startRaw(t);
  await server.write(Buffer.concat([
    frame(call(1, 'initialize', initialize)), frame(call(2, 'shutdown')), frame({ jsonrpc: '2.0', method: 'exit' }),
  ]));
  assert.deepEqual(await server.ended(), { code: 0, signal: null });
  assert.equal((await server.response(2)).result, null);
});

test('the end of the input ends the process, and what was asked is answered', async (t) => {
  const quiet = startRaw(t);
  quiet.child.stdin.end();
  assert.deepEqual(await quiet.ended(), { code: 0, signal: null });
  const busy = startRaw(t);
  busy.child.stdin.end(Buffer.concat([frame(call(1, 'initialize', initialize)), frame(call(2, 'hexapla/instructions/get', {}))]));
  assert.deepEqual(await busy.ended(), { code: 0, signal: null });
  assert.ok((await busy.response(2)).result);
});
