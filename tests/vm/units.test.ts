import { beforeAll, expect, test } from '@jest/globals'
import { untilServing } from '../helpers/vm/boxyard.ts'
import { TEST_LIMIT_MS, useInstalled } from '../helpers/vm/use-installed.ts'

const UNIT = '/sys/fs/cgroup/system.slice/boxyard-boxes.service'
const BOXES = '/v1/projects/demo/boxes'
const { machine, client } = useInstalled()
/** Processes that outlive the agent, as recorded before any test stopped it. */
let outliving: string

beforeAll(async () => {
  expect((await client.post(BOXES, { name: 'web' })).status).toBe(201)
}, TEST_LIMIT_MS)

/** Returns the pids that run outside the agent: inits of boxes, a detached command, the shim and the edge. */
const processes = (): Promise<string> =>
  machine().run(
    `cd ${UNIT}; cat boxyard/*/box_*/cgroup.procs boxyard/*/box_*/held-*/cgroup.procs edge/cgroup.procs shim/cgroup.procs`,
  )

/** Returns this boot's journal lines in which systemd complains about Boxyard processes. */
const complaints = async (): Promise<string> =>
  (await machine().try(`journalctl -b -o cat | grep -iE 'boxyard.*(left-over|remains running)'`)).stdout

const showPid = (unit: string): Promise<string> => machine().run(`systemctl show -P MainPID ${unit}`)

test('a hardened agent starts a box with all that boxes have', async () => {
  const { body } = await client.shell(
    'demo',
    'web',
    'hostname; mount | grep -c cgroup2; cat /proc/self/cgroup; dd if=/dev/zero of=/f bs=1M count=1 2>&1 | tail -1',
  )
  expect(body).toMatchObject({ exit_code: 0, stdout: expect.stringMatching(/^web\n1\n0::\/exec-/) })
  const setuid = await client.shell('demo', 'web', 'cp /bin/busybox /su; chmod 4755 /su; adduser -D -H user; ls -l /su')
  expect(setuid.body.stdout).toMatch(/^-rwsr-xr-x/)
  expect((await client.post(BOXES, { name: 'fork', fork: 'web' })).body.status).toBe('running')
  expect((await client.post('/v1/projects/demo/data', { name: 'db', size_gb: 1 })).status).toBe(201)
  expect((await client.post('/v1/projects/demo/data/db/attach', { box: 'web', path: '/db' })).status).toBe(200)
  expect((await client.shell('demo', 'web', 'echo row >/db/t; cat /db/t')).body.stdout).toBe('row\n')
  const command = ['/bin/sh', '-c', 'mkdir -p /www; echo first >/www/index.html; exec httpd -f -p 3000 -h /www']
  expect((await client.put(`${BOXES}/web/services/site`, { port: 3000, command })).status).toBeLessThan(300)
  expect((await client.post(`${BOXES}/web/publish`, { auth: 'public' })).status).toBeLessThan(300)
  expect(await machine().until('curl -sS --fail http://site--web--demo.localhost:8081/')).toBe('first')
  const { body: exec } = await client.post(`${BOXES}/web/exec`, { shell: 'exec sleep 100000', no_hup: true })
  expect(exec.status).toBe('running')
  outliving = await processes()
  expect(outliving.split('\n').length).toBeGreaterThanOrEqual(6)
  // The cgroup also holds programs that the agent runs briefly.
  const own = 'cat /sys/fs/cgroup/system.slice/boxyard-agent.service/cgroup.procs'
  await machine().until(`[ "$(${own})" = "$(systemctl show -P MainPID boxyard-agent)" ]`)
})

test('systemd finds both units as closed as we say', async () => {
  expect(
    await machine().run(
      'systemd-analyze verify boxyard-agent.service boxyard-boxes.service boxyard-front.service 2>&1',
    ),
  ).toBe('')
  await machine().run('systemd-analyze security --threshold=60 boxyard-agent.service >/dev/null')
  await machine().run('systemd-analyze security --threshold=20 boxyard-front.service >/dev/null')
})

test.each([
  ['daemon-reload', 'systemctl daemon-reload'],
  ['daemon-reexec', 'systemctl daemon-reexec'],
  ['a restart of the agent', 'systemctl restart boxyard-agent'],
  ['a kill of the agent', 'systemctl kill -s KILL boxyard-agent; sleep 2'],
  ['a kill of the process that holds the cgroup', `kill -9 $(cat ${UNIT}/holder/cgroup.procs)`],
])('nothing that outlives the agent notices %s', async (_what, script) => {
  await machine().run(script)
  await untilServing(machine())
  expect(await processes()).toBe(outliving)
  expect(await complaints()).toBe('')
  expect((await client.shell('demo', 'web', 'cat /db/t')).body.stdout).toBe('row\n')
  expect(await machine().run('systemctl is-active boxyard-boxes')).toBe('active')
})

test('an agent that hangs is started again', async () => {
  const pid = await showPid('boxyard-agent')
  await machine().run(`kill -STOP ${pid}`)
  await machine().until(`[ "$(systemctl show -P MainPID boxyard-agent)" != ${pid} ]`)
  await untilServing(machine())
  expect(await machine().run('journalctl -b -o cat -u boxyard-agent')).toContain('Watchdog timeout')
  expect(await processes()).toBe(outliving)
})

test('systemctl reload takes over what may change, and refuses the unsound in words', async () => {
  const pid = await showPid('boxyard-agent')
  await machine().run('echo BOXYARD_BOXES_MAX=0 >>/etc/boxyard/boxyard.conf')
  expect((await machine().try('systemctl reload boxyard-agent')).exitCode).toBe(1)
  expect(await machine().run('journalctl -b -o cat -u boxyard-agent')).toContain(
    'BOXYARD_BOXES_MAX="0": expected a number from 1 to 1000.',
  )
  await machine().run('sed -i s/BOXES_MAX=0/BOXES_MAX=2/ /etc/boxyard/boxyard.conf; systemctl reload boxyard-agent')
  expect((await client.get('/v1/config')).body.limits.boxes_max).toBe(2)
  expect((await client.post(BOXES, { name: 'third' })).body.code).toBe('quota_exceeded')
  expect(await showPid('boxyard-agent')).toBe(pid)
  expect(await processes()).toBe(outliving)
})

test('boxes end with their unit, and come back with the agent', async () => {
  await machine().run('systemctl stop boxyard-boxes')
  expect((await machine().try('systemctl is-active boxyard-boxes boxyard-agent')).stdout).toBe('inactive\ninactive\n')
  expect(await machine().run('journalctl -b -o cat -u boxyard-boxes')).toContain(
    'Stopped 2 boxes. The service restarts the boxes that were running.',
  )
  expect((await machine().try(`ls ${UNIT}`)).exitCode).not.toBe(0)
  expect(await machine().run('nft list tables')).not.toContain('boxyard')
  await machine().run('systemctl start boxyard-agent')
  await untilServing(machine())
  expect(await machine().until('curl -sS --fail http://site--web--demo.localhost:8081/')).toBe('first')
  expect(await complaints()).toBe('')
  expect((await client.shell('demo', 'web', 'cat /db/t')).body.stdout).toBe('row\n')
})
