import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { packPrograms, type Ran, runToEnd, useSshLab } from '../../helpers/clients/ssh-lab.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { freePort } from '../../helpers/service.ts'

const lab = useSshLab(useSharedService())
const { client } = lab
const BOX = '/v1/projects/demo/boxes/web'
const PASSWORD = randomBytes(12).toString('hex')
const ROWS = Array.from({ length: 10_000 }, (_, id) => `${id}\t${randomBytes(40).toString('base64')} \\\\ ü\n`).join('')

/** Runs a command line in the box as the database user, and returns what it prints. */
async function asOwner(line: string): Promise<string> {
  const { body } = await client.shell('demo', 'web', line, { user: 'postgres' })
  if (body.exit_code !== 0) throw new Error(`${line} failed: ${body.stderr}`)
  return body.stdout
}

beforeAll(async () => {
  const version = Math.max(...readdirSync('/usr/lib/postgresql').map(Number))
  const programs = `/usr/lib/postgresql/${version}/bin`
  const modules = ['plpgsql', 'dict_snowball'].map((name) => `/usr/lib/postgresql/${version}/lib/${name}.so`)
  const raw = packPrograms(
    [`${programs}/postgres`, `${programs}/initdb`, ...modules],
    [`/usr/share/postgresql/${version}`, '/usr/share/zoneinfo/UTC'],
  )
  const headers = { 'content-type': 'application/x-tar' }
  expect((await client.call('PUT', `${BOX}/files/archive?path=/`, { raw, headers })).status).toBe(200)
  const made = `echo postgres:x:1000:1000::/srv:/bin/sh >> /etc/passwd; mkdir /srv/db; chown 1000:1000 /srv/db; chmod 700 /srv/db`
  expect((await client.shell('demo', 'web', made)).body.exit_code).toBe(0)
  const options = '--auth=scram-sha-256 --pwfile=/dev/stdin --locale=C --encoding=UTF8 --no-sync'
  await asOwner(`echo ${PASSWORD} | ${programs}/initdb -D /srv/db ${options}`)
  // Without the interval, a server notices that a client has disconnected only when its query ends.
  const settings = ['client_connection_check_interval=100ms', 'unix_socket_directories=', 'shared_buffers=16MB']
  const command = [`${programs}/postgres`, '-D', '/srv/db', ...settings.flatMap((setting) => ['-c', setting])]
  expect((await client.put(`${BOX}/services/db`, { command, user: 'postgres' })).status).toBeLessThan(300)
})

/** Starts `boxyard port-forward` or `ssh -L`, which ends with the lab. Returns the local port. */
const DOORS: Record<string, () => Promise<number>> = {
  'boxyard port-forward': async () => {
    const child = lab.start(process.execPath, [lab.path('boxyard.cjs'), 'port-forward', 'web', '0:5432'])
    child.stderr.resume()
    const [line] = await once(child.stdout, 'data')
    return Number(/^Forwarding 127\.0\.0\.1:(\d+) to port 5432/.exec(String(line))?.[1])
  },
  'ssh -L': async () => {
    const port = await freePort()
    const address = `127.0.0.1:${port}:localhost:5432`
    const child = lab.start('ssh', [...lab.config(), '-N', '-L', address, 'web.demo.boxyard'])
    child.stdout.resume()
    child.stderr.resume()
    return port
  },
}

describe.each(Object.keys(DOORS))('psql through %s', (door) => {
  let env: Record<string, string>

  /** Arguments of psql: read no settings file, print only values, and stop at the first error. */
  const plain = (...more: string[]): string[] => ['-XAtq', '-v', 'ON_ERROR_STOP=1', ...more]
  const psql = (query: string, input = ''): Promise<Ran> => lab.run('psql', plain('-c', query), { input, env })
  const answer = async (query: string): Promise<string> => (await psql(query)).stdout.toString().trim()

  /** Starts a psql with an application name, which the server lists. It reads queries from stdin. */
  function session(name: string): ReturnType<typeof lab.start> {
    const child = lab.start('psql', plain(), { ...env, PGAPPNAME: name })
    child.stderr.resume()
    return child
  }
  const count = (name: string, state: string): Promise<string> =>
    answer(`SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '${name}' AND state LIKE '${state}'`)

  beforeAll(async () => {
    const port = String((await DOORS[door]?.()) ?? 0)
    env = { PGHOST: '127.0.0.1', PGPORT: port, PGUSER: 'postgres', PGPASSWORD: PASSWORD, PGDATABASE: 'postgres' }
    await eventually(async () => (await psql('SELECT 1')).code === 0)
    expect((await psql('CREATE TABLE rows (id int PRIMARY KEY, text text NOT NULL)')).code).toBe(0)
  })
  afterAll(async () => {
    await psql('DROP TABLE rows')
  })

  test('is let in by the password alone, by a server that is not root', async () => {
    const { code, stderr } = await lab.run('psql', plain('-w', '-c', 'SELECT 1'), { env: { ...env, PGPASSWORD: 'no' } })
    expect([code, stderr]).toEqual([2, expect.stringContaining('password authentication failed')])
    expect(await asOwner('stat -c %u /proc/$(head -n 1 /srv/db/postmaster.pid)')).toBe('1000\n')
  })

  test('copies rows in, and out again unchanged', async () => {
    expect(await psql('COPY rows FROM STDIN', ROWS)).toMatchObject({ code: 0, stderr: '' })
    const { code, stdout } = await psql('COPY (SELECT * FROM rows ORDER BY id) TO STDOUT')
    expect([code, stdout.toString() === ROWS]).toEqual([0, true])
    expect(await answer('SELECT count(*), sum(id) FROM rows')).toBe('10000|49995000')
  })

  test('has several connections at once, each with its own transaction', async () => {
    const children = [0, 1, 2, 3].map((index) => session(`open-${index}`))
    for (const [index, child] of children.entries())
      child.stdin.write(`BEGIN; UPDATE rows SET text = 'changed ${index}' WHERE id = ${index};\n`)
    await eventually(async () => (await count('open-%', 'idle in transaction')) === '4')
    expect(await answer("SELECT count(*) FROM rows WHERE text LIKE 'changed %'")).toBe('0')
    const ends = children.map(runToEnd)
    for (const [index, child] of children.entries())
      child.stdin.end(`SELECT text FROM rows WHERE id = ${index}; ${index === 3 ? 'ROLLBACK' : 'COMMIT'};\n`)
    const shown = (await Promise.all(ends)).map(({ code, stdout }) => [code, stdout.toString()])
    expect(shown).toEqual([0, 1, 2, 3].map((index) => [0, `changed ${index}\n`]))
    expect(await answer("SELECT count(*) FROM rows WHERE text LIKE 'changed %'")).toBe('3')
  })

  test('is missed by the server when it is killed within a query, and nothing of its work stays', async () => {
    const child = session('killed')
    child.stdin.write("BEGIN; UPDATE rows SET text = 'lost'; SELECT pg_sleep(600);\n")
    await eventually(async () => (await count('killed', 'active')) === '1')
    const others = session('other')
    others.stdin.write('BEGIN; SELECT 1;\n')
    await eventually(async () => (await count('other', 'idle in transaction')) === '1')
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    await eventually(async () => (await count('killed', '%')) === '0')
    expect(await answer("SELECT count(*) FROM rows WHERE text = 'lost'")).toBe('0')
    expect(await count('other', 'idle in transaction')).toBe('1')
    const end = runToEnd(others)
    others.stdin.end('COMMIT;\n')
    expect((await end).code).toBe(0)
  })
})
