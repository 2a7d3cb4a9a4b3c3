import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { untilServing } from '../helpers/vm/boxyard.ts'
import { packWorkTree } from '../helpers/vm/release.ts'
import { remainsOn } from '../helpers/vm/remains.ts'
import { useInstalled } from '../helpers/vm/use-installed.ts'

const { machine, client } = useInstalled()
const boxes = '/v1/projects/demo/boxes'
const NEXT = '99.0.0'

/** Gives a checkout the version of a later release. */
function raiseVersion(checkout: string): void {
  for (const file of ['package.json', 'package-lock.json']) {
    const path = join(checkout, file)
    const content = JSON.parse(readFileSync(path, 'utf8'))
    content.version = NEXT
    if (content.packages !== undefined) content.packages[''].version = NEXT
    writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`)
  }
}

async function install(deb: string): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  await machine().copyIn(deb, '/root/next.deb')
  return await machine().try('DEBIAN_FRONTEND=noninteractive apt-get -q -y install /root/next.deb')
}

test('an upgrade leaves boxes and their commands running', async () => {
  expect((await client.post(boxes, { name: 'web', config: { ram_mb: 128 } })).status).toBe(201)
  const line = 'echo before >>/root/log; until [ -e /root/end ]; do sleep 1; done; echo after; exit 3'
  const { id } = (await client.shell('demo', 'web', line, { no_hup: true })).body
  const born = 'cut -d " " -f 22 /proc/1/stat'
  const before = (await client.shell('demo', 'web', born)).body.stdout
  const { exitCode, stdout, stderr } = await install(
    await packWorkTree({ name: 'Raise the version', apply: raiseVersion }),
  )
  expect([exitCode, stdout + stderr]).toEqual([0, expect.stringContaining(NEXT)])
  await machine().until(`curl -sS --fail http://127.0.0.1:8080/version | grep -F '"${NEXT}'`)
  await untilServing(machine())
  expect((await client.shell('demo', 'web', born)).body.stdout).toBe(before)
  await client.shell('demo', 'web', 'touch /root/end')
  let { body } = await client.get(`${boxes}/web/exec/${id}?wait_seconds=20`)
  while (body.status === 'running') ({ body } = await client.get(`${boxes}/web/exec/${id}?wait_seconds=20`))
  expect(body).toMatchObject({ status: 'exited', exit_code: 3, stdout: 'after\n' })
})

test('an older package is refused by apt, and data of a newer schema by the program, in words', async () => {
  const { exitCode, stderr } = await install(await packWorkTree())
  expect([exitCode, stderr]).toEqual([100, expect.stringContaining('--allow-downgrades')])
  await machine().run('systemctl stop boxyard-front boxyard-agent')
  const setSchema = async (version: string): Promise<string> =>
    await machine().run(`/usr/lib/boxyard/node_modules/.bin/node --disable-warning=ExperimentalWarning -e '
      const { DatabaseSync } = require("node:sqlite")
      const database = new DatabaseSync("/var/lib/boxyard/boxyard.db")
      console.log(database.prepare("PRAGMA user_version").get().user_version)
      database.exec("PRAGMA user_version = ${version}")'`)
  const schema = await setSchema('9999')
  await machine().run('systemctl start --no-block boxyard-agent')
  await machine().until(`journalctl --no-pager -u boxyard-agent | grep -F \
    'The database has schema version 9999, and this program supports ${schema}. Start a newer Boxyard.'`)
  await machine().run('systemctl stop boxyard-agent')
  await setSchema(schema)
  await machine().run('systemctl start boxyard-agent boxyard-front')
  await untilServing(machine())
  expect((await client.shell('demo', 'web', 'cat /root/log')).body.stdout).toBe('before\n')
})

test('a removal stops every box, also with a wrong setting, and leaves data, from which an installation goes on', async () => {
  await machine().run(`
    cp /etc/boxyard/boxyard.conf /root/sound.conf
    echo BOXYARD_EGRESS=perhaps >>/etc/boxyard/boxyard.conf
    DEBIAN_FRONTEND=noninteractive apt-get -q -y remove boxyard
    cp /root/sound.conf /etc/boxyard/boxyard.conf`)
  expect(await remainsOn(machine())).toEqual([])
  expect(
    await machine().run(
      'ls -d /var/lib/boxyard/boxyard.db /etc/boxyard/boxyard.conf /usr/lib/boxyard 2>/dev/null || true',
    ),
  ).toBe('/etc/boxyard/boxyard.conf\n/var/lib/boxyard/boxyard.db')
  expect((await install(await packWorkTree({ name: 'Raise the version', apply: raiseVersion }))).exitCode).toBe(0)
  await untilServing(machine())
  await machine().until(`curl -sS --fail -H "Authorization: Bearer $(cat /var/lib/boxyard/admin.token)" \
    http://127.0.0.1:8080${boxes}/web | grep '"status":"running"'`)
  expect((await client.shell('demo', 'web', 'cat /root/log')).body.stdout).toBe('before\n')
})

test('a purge leaves nothing', async () => {
  await machine().run('DEBIAN_FRONTEND=noninteractive apt-get -q -y purge boxyard')
  expect(await remainsOn(machine())).toEqual([])
  expect(await machine().run('find / -xdev -name "*boxyard*" -not -path "/proc/*" -not -path "/root/*"')).toBe('')
  expect(await machine().run('systemctl --failed --no-legend')).toBe('')
})
