// The methods, through the connection that VS Code's language clients use.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { CancellationTokenSource, ResponseError } from 'vscode-languageserver-protocol/node';
import { connect, within } from './server.mjs';

const workspace = { uri: 'file:///projects/brewlog' };

/** Whether an error is a ResponseError of a code and kind. */
const fails = (code, kind) => (error) => {
  assert.ok(error instanceof ResponseError, String(error));
  assert.equal(error.code, code);
  assert.equal(error.data.kind, kind);
  return true;
};

test('lifecycle and offer', async (t) => {
  const { result, request, leave } = await connect(t);
  const offer = result.capabilities.experimental.hexapla;
  assert.equal(offer.protocolVersion, 0);
  assert.ok(offer.methods.includes('hexapla/pack/build'));
  assert.ok(offer.events.includes('hexapla/event/packed'));
  await assert.rejects(request('nothing/here', {}), fails(-32601, 'method_not_found'));
  assert.deepEqual(await leave(), { code: 0, signal: null });
});

test('record, pack, ingest, request, search', async (t) => {
  const { connection, request, leave } = await connect(t);
  const events = [];
  connection.onNotification('hexapla/event/recorded', (event) => events.push(event));
  const packed = new Promise((resolve) => connection.onNotification('hexapla/event/packed', resolve));

  const { session } = await request('session/open', { workspace, model: 'gpt-4o' });
  const first = await request('conversation/record', {
    session, key: 'k1',
    turns: [
      { role: 'user', text: 'Der Kessel pfeift – 笛 😀: fix kettle.go please.' },
      { role: 'assistant', text: 'I read it.', toolCalls: [{ id: 'a', name: 'read_file', input: { path: 'kettle.go' } }] },
      { role: 'tool', toolResults: [{ callId: 'a', content: 'package kettle\n\nfunc Whistle() {}\n' }] },
    ],
  });
  assert.deepEqual(first.turnNumbers, [1, 2, 3]);
  assert.equal(first.opened, true);
  assert.equal(first.toolResults[0].blob.size, 34);
  const again = await request('conversation/record', {
    session, key: 'k1',
    turns: [
      { role: 'user', text: 'Der Kessel pfeift – 笛 😀: fix kettle.go please.' },
      { role: 'assistant', text: 'I read it.', toolCalls: [{ id: 'a', name: 'read_file', input: { path: 'kettle.go' } }] },
      { role: 'tool', toolResults: [{ callId: 'a', content: 'package kettle\n\nfunc Whistle() {}\n' }] },
    ],
  });
  assert.deepEqual(again, first);

  const budget = { total: 4000, reserved: 500 };
  const { pack, checksum } = await request('pack/build', { session, budget });
  assert.ok(pack.text.includes('Der Kessel pfeift – 笛 😀'));
  assert.ok(pack.text.includes('func Whistle() {}'));
  assert.equal(pack.text, pack.branches.systemPrompt + pack.branches.contextPrompt + pack.branches.userInput);
  assert.equal(pack.text, pack.sections.map((section) => section.text).join(''));
  assert.ok(pack.tokens.used + pack.tokens.reserved <= pack.tokens.total);
  assert.equal((await request('pack/build', { session, budget })).checksum, checksum);
  assert.equal((await within(packed, 'event/packed')).checksum, checksum);
  await assert.rejects(request('pack/build', { session, budget: { total: 1 } }), (error) => {
    fails(-32803, 'budget_too_small')(error);
    assert.ok(error.data.smallestTotal > 1);
    return true;
  });

  const answer = await request('response/ingest', {
    session, done: true,
    text: 'It whistles once now.\n```hexapla\n{"housekeeping":{"llm":{"responseHeader":{"topic":"Kettle","summary":"Whistles once"}},"user":{}},'
      + '"contextRequests":{"retrieveConversations":[{"conversationIds":["c1"],"format":"header"}]}}\n```\n',
  });
  assert.equal(answer.content, 'It whistles once now.');
  assert.equal(answer.housekeepingApplied, true);
  assert.deepEqual(answer.problems, []);
  assert.equal(answer.context.items[0].conversation, first.conversation);

  const { header, turns } = await request('conversation/get', { session, conversation: first.conversation });
  assert.equal(header.topic, 'Kettle');
  assert.equal(turns.length, 4);

  const served = await request('context/request', {
    session, requests: { retrieveConversations: [{ conversationIds: [first.conversation, 'c999'], format: 'summary' }] },
  });
  assert.equal(served.items[0].detail, 'summary');
  assert.equal(served.deferred[0].reason, 'not_found');

  const found = await request('search/query', { session, query: 'Kessel pfeift' });
  assert.equal(found.hits[0].conversation, first.conversation);
  assert.deepEqual((await request('search/query', { session, query: 'zzzqqq' })).hits, []);

  assert.ok(events.length >= 3);
  assert.equal(events[0].method, 'hexapla/conversation/record');
  assert.deepEqual(await leave(), { code: 0, signal: null });
});

test('200 requests at once keep the order of writes', async (t) => {
  const { request, leave } = await connect(t);
  const { session } = await request('session/open', { workspace });
  const all = [];
  for (let i = 0; i < 100; i++) {
    all.push(request('conversation/record', { session, key: `k${i}`, done: true, turns: [{ role: 'user', text: `query ${i}` }] }));
    all.push(request('metrics/get', { session }));
  }
  const results = await Promise.all(all);
  for (let i = 0; i < 100; i++) {
    assert.equal(results[2 * i].conversation, `c${i + 1}`);
    assert.ok(results[2 * i + 1].conversations >= i + 1, 'a read sees the writes before it');
  }
  assert.equal((await request('metrics/get', { session })).conversations, 100);
  await leave();
});

test('a new process goes on where the last one ended', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'hexapla-client-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  const before = await connect(t, { dataDir });
  await before.request('session/open', { workspace, session: 'panel-1' });
  await before.request('conversation/record', { session: 'panel-1', turns: [{ role: 'user', text: 'Remember the milk jug.' }] });
  const first = await before.request('pack/build', { session: 'panel-1', budget: { total: 2000 } });
  await before.leave();
  const after = await connect(t, { dataDir });
  const opened = await after.request('session/open', { workspace, session: 'panel-1' });
  assert.equal(opened.resumed, true);
  assert.equal(opened.ongoing, 'c1');
  const second = await after.request('pack/build', { session: 'panel-1', budget: { total: 2000 } });
  assert.equal(second.checksum, first.checksum);
  await after.leave();
});

test('a cancelled read is answered once, with its result or as cancelled', async (t) => {
  const { connection, request, leave } = await connect(t);
  const { session } = await request('session/open', { workspace });
  const source = new CancellationTokenSource();
  const answer = connection.sendRequest('hexapla/search/query', { session, query: 'anything' }, source.token);
  source.cancel();
  await within(answer.then(() => {}, fails(-32800, 'cancelled')), 'cancelled search');
  assert.ok(await request('metrics/get', { session }));
  await leave();
});

test('faults in parameters name their place', async (t) => {
  const { request, leave } = await connect(t);
  const { session } = await request('session/open', { workspace });
  const at = (path) => (error) => fails(-32602, 'invalid_params')(error) && error.data.path === path;
  await assert.rejects(request('session/open', {}), at('workspace'));
  await assert.rejects(request('conversation/record', { session, turns: [{ role: 'user', text: 5 }] }), at('turns[0].text'));
  await assert.rejects(request('pack/build', { session, budget: { total: '4000' } }), at('budget.total'));
  await assert.rejects(request('session/close', { session: 'nobody' }), fails(-32803, 'not_found'));
  assert.ok(await request('instructions/get', { unknown: true, format: null }));
  await leave();
});
