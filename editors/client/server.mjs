// Starts a Hexapla server for one test and takes it down after it.
//
// HEXAPLA is the program's path; HEXAPLA_ARGS may hold arguments in front of
// `serve`, separated by spaces.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ExitNotification, InitializeRequest, InitializedNotification, ShutdownRequest,
  StreamMessageReader, StreamMessageWriter, createProtocolConnection,
} from 'vscode-languageserver-protocol/node';

const program = process.env.HEXAPLA;
if (!program) {
  throw new Error('HEXAPLA must name the hexapla program');
}

/** How long anything may take before a test fails. */
const patience = 30_000;

/** Rejects when a promise is not settled in time. */
export function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing within ${patience} ms`)), patience);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A server with raw pipes. `ended` resolves to its exit code and signal. */
export function start(t, { dataDir } = {}) {
  const own = dataDir ?? mkdtempSync(join(tmpdir(), 'hexapla-client-'));
  const args = (process.env.HEXAPLA_ARGS ?? '').split(' ').filter(Boolean);
  const child = spawn(program, [...args, 'serve', '--data-dir', own], { stdio: ['pipe', 'pipe', 'pipe'] });
  let log = '';
  child.stderr.on('data', (data) => { log += data; });
  child.stdin.on('error', () => {}); // the server may be gone already
  const ended = new Promise((resolve) => child.on('exit', (code, signal) => resolve({ code, signal })));
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
    if (dataDir === undefined) rmSync(own, { recursive: true, force: true });
    if (log !== '') t.diagnostic(`server log: ${log}`);
  });
  return { child, ended: () => within(ended, 'end of the process') };
}

/** The bytes of a message, or of a body given as text. */
export function frame(message, header = '', lineEnd = '\r\n') {
  const body = Buffer.from(typeof message === 'string' ? message : JSON.stringify(message));
  return Buffer.concat([Buffer.from(`${header}Content-Length: ${body.length}${lineEnd}${lineEnd}`), body]);
}

/** A server with raw input whose messages are read by the reference reader. */
export function startRaw(t, options) {
  const server = start(t, options);
  const messages = [];
  const waiting = [];
  new StreamMessageReader(server.child.stdout).listen((message) => {
    messages.push(message);
    for (const look of [...waiting]) look();
  });
  /** The first message that fits. */
  const message = (fits, what) => within(new Promise((resolve) => {
    const look = () => {
      const found = messages.find(fits);
      if (found === undefined) return;
      const at = waiting.indexOf(look);
      if (at >= 0) waiting.splice(at, 1);
      resolve(found);
    };
    waiting.push(look);
    look();
  }), what);
  const write = (bytes) => new Promise((resolve, reject) => {
    server.child.stdin.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
  return { ...server, messages, message, write, response: (id) => message((m) => m.id === id && !m.method, `response to ${id}`) };
}

export const initialize = {
  processId: null, rootUri: null, workspaceFolders: null,
  clientInfo: { name: 'independent-client', version: '0.1.0' },
  capabilities: { experimental: { hexapla: { protocolVersion: 0 } } },
};

/** A connection of the reference implementation, initialized. */
export async function connect(t, options) {
  const server = start(t, options);
  const connection = createProtocolConnection(
    new StreamMessageReader(server.child.stdout), new StreamMessageWriter(server.child.stdin));
  t.after(() => connection.dispose());
  connection.listen();
  const result = await within(connection.sendRequest(InitializeRequest.type, initialize), 'initialize');
  await connection.sendNotification(InitializedNotification.type, {});
  return {
    ...server, connection, result,
    request: (method, params) => within(connection.sendRequest(`hexapla/${method}`, params), method),
    leave: async () => {
      await within(connection.sendRequest(ShutdownRequest.type), 'shutdown');
      await connection.sendNotification(ExitNotification.type);
      return server.ended();
    },
  };
}
