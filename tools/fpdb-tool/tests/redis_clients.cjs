// Tests a server with the clients of Redis for Node.js; `redis_clients.py` calls this with the port.
'use strict';

const assert = require('node:assert/strict');

const port = Number(process.argv[2]);

/** Returns three documents, of which the second is a near-duplicate of the first. */
function documents(client, protocol) {
  const prefix = `https://${client}-${protocol}.example/`;
  const number = BigInt(client.length + protocol);
  const base = BigInt.asUintN(64, number * 0xd1342543de82ef95n);
  const values = [base, base ^ 1n, base ^ 0xffffffff0000n];
  return values.map((value, at) => [`${prefix}${at}`, `0x${value.toString(16).padStart(16, '0')}`]);
}

function check(replies, [first], word) {
  assert.deepEqual(replies.map((reply) => reply[0]), [word, 'duplicate', word]);
  assert.equal(replies[1][1], first[0]);
}

async function ioredis() {
  const { default: Redis } = require('ioredis');
  const db = new Redis(port);
  const results = (all) => all.map(([error, reply]) => {
    assert.equal(error, null);
    return reply;
  });
  for (const [protocol, begin] of [[1, () => db.pipeline()], [2, () => db.multi()]]) {
    const pages = documents('ioredis', protocol);
    const commands = begin();
    for (const [url, fingerprint] of pages) commands.call('FP.ADDNX', url, fingerprint);
    check(results(await commands.exec()), pages, 'inserted');
  }
  const refused = db.multi().call('FP.ADDNX', 'https://refused.example/', '0x5555').call('SET', 'a', 'b');
  await assert.rejects(refused.exec(), /EXECABORT|unknown command/);
  assert.equal(await db.call('FP.GET', 'https://refused.example/'), null);
  await db.quit();
}

async function nodeRedis() {
  const { createClient } = require('redis');
  for (const RESP of [2, 3]) {
    const db = await createClient({ url: `redis://127.0.0.1:${port}`, RESP }).connect();
    const pages = documents('node-redis', RESP);
    const add = ([url, fingerprint]) => ['FP.ADDNX', url, fingerprint];
    check(await Promise.all(pages.map((page) => db.sendCommand(add(page)))), pages, 'inserted');
    await Promise.all(pages.map(([url]) => db.sendCommand(['FP.DEL', url])));
    const transaction = db.multi();
    pages.forEach((page) => transaction.addCommand(add(page)));
    check(await transaction.exec(), pages, 'inserted');
    const refused = db.multi().addCommand(['FP.ADDNX', 'https://refused.example/', '0x5555']).addCommand(['SET', 'a', 'b']);
    await assert.rejects(refused.exec());
    assert.equal(await db.sendCommand(['FP.GET', 'https://refused.example/']), null);
    await db.close();
  }
}

ioredis()
  .then(nodeRedis)
  .then(() => console.log('ioredis and node-redis: all passed'))
  .catch((error) => {
    console.error(error);
    process.exit(1);
  });
