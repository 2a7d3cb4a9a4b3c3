import { expect, test } from '@jest/globals'
import { untilServing } from '../helpers/vm/boxyard.ts'
import { useInstalled } from '../helpers/vm/use-installed.ts'

const { machine, client } = useInstalled()
const boxes = '/v1/projects/demo/boxes'
const AGENT = 'systemctl show --property=MainPID --value boxyard-agent'

/** Returns the start time of a box's init and the id of its command, which identify the same processes later. */
async function processesOf(box: string): Promise<string> {
  const line = 'for pid in 1 $(cat /root/pid); do cut -d " " -f 22 /proc/$pid/stat; done'
  const { body } = await client.shell('demo', box, line)
  expect(body).toMatchObject({ exit_code: 0, stderr: '' })
  return body.stdout
}

/** Runs `act` and checks that the box, its command and their output continue. */
async function keepsBoxes(act: () => Promise<unknown>): Promise<void> {
  const before = await processesOf('web')
  await act()
  await untilServing(machine())
  expect(await processesOf('web')).toBe(before)
}

test('a box runs a command that outlives the service', async () => {
  expect((await client.post(boxes, { name: 'web', config: { ram_mb: 128 } })).status).toBe(201)
  const started = await client.shell(
    'demo',
    'web',
    'echo $$ >/root/pid; until [ -e /root/end ]; do sleep 1; done; exit 7',
    {
      no_hup: true,
    },
  )
  expect(started.body.status).toBe('running')
  await machine().until(`test -n "$(find /sys/fs/cgroup -name 'box_*' -type d)"`)
})

test('kill -9 of the agent: systemd starts another, and boxes and commands go on', async () => {
  const pid = await machine().run(AGENT)
  await keepsBoxes(async () => {
    await machine().run(`kill -9 ${pid}`)
    await machine().until(`pid=$(${AGENT}); [ $pid != 0 ] && [ $pid != ${pid} ]`)
  })
})

test('systemctl restart, and stop and start, leave boxes and commands running', async () => {
  await keepsBoxes(() => machine().run('systemctl restart boxyard-agent boxyard-front'))
  await keepsBoxes(async () => {
    await machine().run('systemctl stop boxyard-front boxyard-agent')
    expect((await machine().try('systemctl is-active boxyard-agent')).stdout.trim()).toBe('inactive')
    expect(await machine().run(`cat $(find /sys/fs/cgroup -path '*box_*' -name cgroup.procs) | wc -l`)).not.toBe('0')
    await machine().run('systemctl start boxyard-agent boxyard-front')
  })
  const warnings = await machine().try('journalctl --no-pager -u boxyard-agent | grep -i "left-over process"')
  expect(warnings.stdout).toBe('')
})

test('systemctl daemon-reload changes nothing that boxes notice', async () => {
  const limit = (): Promise<string> =>
    machine().run(`cat "$(find /sys/fs/cgroup -type d -name 'box_*' | head -n 1)/memory.max"`)
  const before = await limit()
  await keepsBoxes(() => machine().run('systemctl daemon-reload'))
  expect(await limit()).toBe(before)
})

test('systemctl restart nftables flushes all rules, and those of boxes are back', async () => {
  const table = `nft list tables | grep -q 'boxyard_'`
  await machine().run(table)
  await keepsBoxes(() => machine().run('systemctl restart nftables'))
  await machine().until(table)
  await machine().run('systemctl stop nftables')
  await machine().until(table)
})

test('the end of a login session ends no box, and none of the service', async () => {
  const agent = await machine().run(AGENT)
  await keepsBoxes(async () => {
    const made = await machine().login(`curl -sS --fail -H "Authorization: Bearer $(cat /var/lib/boxyard/admin.token)" \
      --json '{"name":"mine","config":{"ram_mb":64}}' http://127.0.0.1:8080${boxes}`)
    expect(made.exitCode).toBe(0)
    const restarted = await machine().login('systemctl restart boxyard-agent')
    expect(restarted.exitCode).toBe(0)
  })
  expect(await machine().run(AGENT)).not.toBe(agent)
  expect((await client.shell('demo', 'mine', 'echo alive')).body.stdout).toBe('alive\n')
})

test('the command keeps its exit code over all that', async () => {
  await client.shell('demo', 'web', 'touch /root/end')
  const { execs } = (await client.get(`${boxes}/web/exec`)).body
  const { id } = execs.find((exec: { detached: boolean }) => exec.detached)
  let { body } = await client.get(`${boxes}/web/exec/${id}?wait_seconds=20`)
  while (body.status === 'running') ({ body } = await client.get(`${boxes}/web/exec/${id}?wait_seconds=20`))
  expect(body).toMatchObject({ status: 'exited', exit_code: 7 })
})
