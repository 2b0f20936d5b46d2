// Tests `fpdb-tool serve` with ioredis and node-redis: single commands, pipelines and transactions.
//
//     node redis_clients.mjs target/debug/fpdb-tool
//
// Needs the packages `ioredis` and `redis` in a folder node_modules beside this file or above it.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

import Redis from "ioredis";
import { createClient } from "redis";

const ADD = "FP.ADDNX";

/// What each client has to do: `call` runs one command, and `pipeline` and `multi` run several and
/// return their replies, with errors among them.
async function ioredis(port) {
  const db = new Redis({ port, maxRetriesPerRequest: 1 });
  const run = async (batch, commands) => {
    for (const words of commands) batch.call(...words);
    return (await batch.exec()).map(([error, reply]) => error ?? reply);
  };
  return {
    call: (words) => db.call(...words),
    pipeline: (commands) => run(db.pipeline(), commands),
    multi: (commands) => run(db.multi(), commands),
    close: () => db.quit(),
  };
}

async function nodeRedis(port, RESP) {
  const db = createClient({ url: `redis://127.0.0.1:${port}`, RESP });
  // Without a listener, an error of the connection would end the program.
  db.on("error", (error) => console.error(error));
  await db.connect();
  const run = (commands, exec) => {
    const batch = db.multi();
    for (const words of commands) batch.addCommand(words);
    return batch[exec]().catch((error) => error.replies ?? Promise.reject(error));
  };
  return {
    call: (words) => db.sendCommand(words),
    pipeline: (commands) => run(commands, "execAsPipeline"),
    multi: (commands) => run(commands, "exec"),
    close: () => db.close(),
  };
}

/// Distant fingerprints: no two of them are near.
function fingerprint(number) {
  return "0x" + ((BigInt(number) * 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn).toString(16);
}

async function check(db, number) {
  const key = (name) => `https://${number}.example/${name}`;
  let next = 1000 * (number + 1);
  assert.equal(await db.call(["PING"]), "PONG");
  for (const batch of [db.pipeline, db.multi]) {
    const first = next++;
    const replies = await batch([
      [ADD, key(first), fingerprint(first)],
      [ADD, key("copy"), fingerprint(first)],
      ["FP.QUERY", fingerprint(first), "0"],
    ]);
    assert.deepEqual(replies[0], ["inserted"]);
    assert.deepEqual(replies[1].slice(0, 3), ["duplicate", key(first), 0]);
    assert.equal(replies[2][0][0], key(first));
    const many = Array.from({ length: 300 }, () => [ADD, key(next), fingerprint(next++)]);
    assert.deepEqual(await batch(many), many.map(() => ["inserted"]));
    // Every page of a repeated batch is there already.
    assert.deepEqual(new Set((await batch(many)).map((reply) => reply[0])), new Set(["exists"]));
  }
  // A pipeline of node-redis fails as a whole if one command does, so this is about transactions only.
  const [wrong, pong] = await db.multi([[ADD, key("wrong"), "12"], ["PING"]]);
  assert.ok(wrong instanceof Error, wrong);
  assert.equal(pong, "PONG");
  const refused = [[ADD, key("refused"), fingerprint(next++)], ["FP.NOTHING"]];
  await assert.rejects(db.multi(refused), /EXECABORT|unknown command/);
  assert.equal(await db.call(["FP.GET", key("refused")]), null);
  await db.close();
}

/// A proxy that loses a reply, and the connection with it. `ioredis` then sends the command again by
/// itself.
async function checkLostReply(port) {
  let isLost = false;
  const proxy = createServer((client) => {
    const server = connect(port, "127.0.0.1");
    client.pipe(server);
    server.on("data", (reply) => (isLost ? client.destroy() : client.write(reply)));
    client.on("close", () => (server.destroy(), (isLost = false)));
    // After QUIT, ioredis waits until the server has closed the connection.
    server.on("close", () => client.destroy());
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const db = new Redis({ port: proxy.address().port });
  db.on("error", (error) => console.error(error));
  await db.ping();
  isLost = true;
  const [key, found] = ["https://lost.example/", fingerprint(7).padStart(18, "0")];
  assert.deepEqual(await db.call(ADD, key, found), ["exists", key, 0, found]);
  await db.quit();
  proxy.close();
}

async function main() {
  const tool = path.resolve(process.argv[2]);
  const folder = mkdtempSync(path.join(tmpdir(), "fpdb-clients-"));
  const folderOfDb = path.join(folder, "db");
  execFileSync(tool, ["create", folderOfDb, "--ids", "names", "-q"]);
  const server = spawn(tool, ["serve", folderOfDb, "--listen", "127.0.0.1:0", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [line] = await once(createInterface(server.stdout), "line");
    const port = Number(JSON.parse(line).address.split(":").pop());
    const clients = [() => ioredis(port), () => nodeRedis(port, 2), () => nodeRedis(port, 3)];
    for (const [number, connect] of clients.entries()) await check(await connect(), number);
    await checkLostReply(port);
    const ended = once(server, "exit");
    server.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  } finally {
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  }
  console.log("clients of Redis in Node.js: all passed");
}

await main();
