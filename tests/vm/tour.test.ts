import { expect, test } from '@jest/globals'
import { useInstalled } from '../helpers/vm/use-installed.ts'

const { machine, client } = useInstalled()
const project = '/v1/projects/demo'
const boxes = `${project}/boxes`

/** Returns the output of a shell line in a box. */
async function ask(box: string, line: string): Promise<string> {
  const { body } = await client.shell('demo', box, line)
  return String(body.stdout).trim()
}

/** Starts a detached command. Retries while the service is too busy. */
async function startDetached(box: string, line: string): Promise<void> {
  for (let status = 503; status >= 500; ) ({ status } = await client.shell('demo', box, line, { no_hup: true }))
}

/** Returns the text of a file in a box's cgroup. */
async function readCgroup(id: string, file: string): Promise<string> {
  return await machine().run(`cat "$(find /sys/fs/cgroup -type d -name '${id}' | head -n 1)/${file}"`)
}

test('the host has cgroup v2 alone, and a kernel that Debian ships', async () => {
  expect(await machine().run('stat --file-system --format=%T /sys/fs/cgroup')).toBe('cgroup2fs')
  expect(await machine().run('uname -r')).toMatch(/deb13/)
})

test('a box keeps files, and a fork has a copy of its own', async () => {
  expect((await client.post(boxes, { name: 'web', config: { ram_mb: 128 } })).status).toBe(201)
  expect(await ask('web', 'echo v1 >/root/app; hostname')).toBe('web')
  expect((await client.post(boxes, { name: 'try', fork: 'web', config: { ram_mb: 128 } })).status).toBe(201)
  expect(await ask('try', 'cat /root/app; hostname')).toBe('v1\ntry')
  expect(await ask('try', 'echo v2 >/root/app')).toBe('')
  expect(await ask('web', 'cat /root/app')).toBe('v1')
  await startDetached('try', 'while :; do echo reached | nc -l -p 7000; done')
  expect(await ask('web', 'until nc try 7000 </dev/null 2>/dev/null; do sleep 1; done')).toBe('reached')
})

test('a data volume is attached, written, detached and read by another box, all running', async () => {
  await client.post(`${project}/data`, { name: 'db', size_gb: 1 })
  const attach = async (box: string, path: string, more: object = {}) =>
    (await client.post(`${project}/data/db/attach`, { box, path, ...more })).status
  expect(await attach('web', '/var/lib/db')).toBe(200)
  expect(await ask('web', 'echo row >/var/lib/db/table; cat /var/lib/db/table')).toBe('row')
  expect((await client.post(`${project}/data/db/detach`, { box: 'web' })).status).toBe(200)
  expect(await attach('try', '/db', { read_only: true })).toBe(200)
  expect(await ask('try', 'cat /db/table; echo no >/db/table 2>/dev/null || echo refused')).toBe('row\nrefused')
})

test('a snapshot is restored', async () => {
  expect((await client.post(`${boxes}/web/snapshots`, { name: 'good' })).status).toBe(201)
  expect(await ask('web', 'rm /root/app; ls /root')).toBe('')
  expect((await client.post(`${boxes}/web/restore?wait_seconds=20`, { snapshot: 'good' })).status).toBeLessThan(300)
  await machine().until(`curl -s -H "Authorization: Bearer $(cat /var/lib/boxyard/admin.token)" \
    http://127.0.0.1:8080${boxes}/web | grep '"status":"running"'`)
  expect(await ask('web', 'cat /root/app')).toBe('v1')
})

test('the freezer holds a box while a snapshot takes its volumes, and lets it go on', async () => {
  const { id } = (await client.get(`${boxes}/try`)).body
  await startDetached('try', 'while :; do date >/root/now; usleep 200000; done')
  expect((await client.post(`${boxes}/try/snapshots`, { name: 'all', include_data: true })).status).toBe(201)
  expect(await readCgroup(id, 'cgroup.events')).toContain('frozen 0')
  expect(await ask('try', 'rm /root/now; until [ -s /root/now ]; do usleep 100000; done; echo goes on')).toBe('goes on')
})

test('a service answers at its URL', async () => {
  expect(await ask('web', 'mkdir -p /srv; echo first >/srv/index.html')).toBe('')
  const { status } = await client.put(`${boxes}/web/services/site`, {
    port: 3000,
    readiness: { tcp: true },
    command: ['/bin/sh', '-c', 'exec httpd -f -p $PORT -h /srv'],
  })
  expect(status).toBeLessThan(300)
  const url = 'http://127.0.0.1:8081/ -H "Host: site--web--demo.localhost"'
  const bearer = '-H "Authorization: Bearer $(cat /var/lib/boxyard/admin.token)"'
  expect(await machine().until(`curl -sS --fail ${url} ${bearer}`)).toBe('first')
  expect(await machine().run(`curl -s -o /dev/null -w '%{http_code}' ${url}`)).toMatch(/^(30[1237]|401)$/)
})

test('limits are in the cgroup of the box, bind, and change while it runs', async () => {
  const { id } = (await client.post(boxes, { name: 'tight', config: { ram_mb: 64 } })).body
  expect(await readCgroup(id, 'memory.max')).toBe(String(64 * 1024 ** 2))
  expect(await readCgroup(id, 'cpu.max')).toMatch(/^(\d+) \1$/)
  const most = Number(await readCgroup(id, 'pids.max'))
  expect(most).toBeGreaterThan(100)
  const started = await ask('tight', 'cat /proc/1/stat | cut -d " " -f 22')
  const taken = await client.shell('demo', 'tight', 'dd if=/dev/zero of=/dev/null bs=200M count=1')
  expect(taken.body).toMatchObject({ status: 'out_of_memory', signal: 'SIGKILL' })
  expect((await client.put(`${boxes}/tight`, { config: { ram_mb: 300, cpus: 2 } })).status).toBe(200)
  expect(await readCgroup(id, 'memory.max')).toBe(String(300 * 1024 ** 2))
  expect(await readCgroup(id, 'cpu.max')).toMatch(/^(\d+) /)
  const [quota = 0, period = 1] = (await readCgroup(id, 'cpu.max')).split(' ').map(Number)
  expect(quota / period).toBe(2)
  expect((await client.shell('demo', 'tight', 'dd if=/dev/zero of=/dev/null bs=200M count=1')).body.exit_code).toBe(0)
  // The init is the same, so nothing was restarted.
  expect(await ask('tight', 'cat /proc/1/stat | cut -d " " -f 22')).toBe(started)
})

test('its metrics are the figures of its cgroup', async () => {
  const { id } = (await client.get(`${boxes}/tight`)).body
  const read = async (): Promise<{ seconds: number; bytes: number; pids: number }> => ({
    seconds: Number(/usage_usec (\d+)/.exec(await readCgroup(id, 'cpu.stat'))?.[1]) / 1e6,
    bytes: Number(await readCgroup(id, 'memory.current')),
    pids: Number(await readCgroup(id, 'pids.current')),
  })
  const before = await read()
  const { body } = await client.get(`${boxes}/tight/metrics`)
  const after = await read()
  expect(body.cpu.seconds).toBeGreaterThanOrEqual(before.seconds - 0.01)
  expect(body.cpu.seconds).toBeLessThanOrEqual(after.seconds + 0.01)
  expect([before.pids, after.pids]).toContain(body.pids.current)
  expect(Math.abs(body.memory.used_bytes - before.bytes)).toBeLessThan(4 * 1024 ** 2)
  expect([body.memory.limit_bytes, body.cpu.limit_cores]).toEqual([300 * 1024 ** 2, 2])
  expect(body.pids.limit).toBe(Number(await readCgroup(id, 'pids.max')))
})
