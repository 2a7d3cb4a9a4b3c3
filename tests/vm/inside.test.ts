import { beforeAll, expect, test } from '@jest/globals'
import { tcpMib, unreadConnections } from '../helpers/boxes/hostile.ts'
import { untilServing } from '../helpers/vm/boxyard.ts'
import { useInstalled } from '../helpers/vm/use-installed.ts'

const { machine, client } = useInstalled()
const boxes = '/v1/projects/demo/boxes'

/** Runs a line in a box and returns its output. The line must succeed. */
async function inBox(box: string, line: string): Promise<string> {
  const { body } = await client.shell('demo', box, line)
  expect(body).toMatchObject({ exit_code: 0, stderr: '' })
  return body.stdout.trim()
}

beforeAll(async () => {
  await machine().run('echo BOXYARD_NESTING=true >>/etc/boxyard/boxyard.conf && systemctl restart boxyard-agent')
  await untilServing(machine())
  const config = { cpus: 1, ram_mb: 128 }
  expect((await client.post(boxes, { name: 'plain', config })).status).toBe(201)
  expect((await client.post(boxes, { name: 'nest', config: { ...config, nesting: true } })).status).toBe(201)
}, 1_800_000)

test.each(['plain', 'nest'])('the box %s sees its own memory, processors and cgroup', async (box) => {
  expect(await inBox(box, 'grep MemTotal: /proc/meminfo')).toMatch(/ 131072 kB$/)
  expect(await inBox(box, 'nproc; grep -c ^processor /proc/cpuinfo')).toBe('1\n1')
  expect(await inBox(box, 'cat /sys/fs/cgroup/memory.max')).toBe(String(128 * 1024 ** 2))
  const { body } = await client.shell('demo', box, 'echo max >/sys/fs/cgroup/memory.max')
  expect(body.exit_code).not.toBe(0)
})

test('a box without nesting makes neither namespaces nor cgroups', async () => {
  for (const line of ['unshare -U true', 'unshare -m true', 'mkdir /sys/fs/cgroup/own'])
    expect([line, (await client.shell('demo', 'plain', line)).body.exit_code]).not.toEqual([line, 0])
})

test('a box with nesting makes namespaces, mounts and cgroups of its own, below its limits', async () => {
  expect(
    await inBox('nest', "unshare -Urmpf sh -c 'mount -t proc proc /proc && mount -t tmpfs none /mnt && echo $$'"),
  ).toBe('1')
  const own = '/sys/fs/cgroup/own'
  await inBox('nest', `mkdir ${own} && echo 8 >${own}/pids.max`)
  expect(await inBox('nest', `sh -c 'echo 0 >${own}/cgroup.procs && cat /proc/self/cgroup'`)).toMatch(/\/own$/)
  // A nested cgroup can set a limit above the box's, but gets no more memory than the box.
  const line = `echo max >${own}/memory.max; sh -c 'echo 0 >${own}/cgroup.procs; exec tail -c 400m /dev/zero >/dev/null'`
  expect((await client.shell('demo', 'nest', line)).body.exit_code).not.toBe(0)
  expect(Number(await inBox('nest', "sed -n 's/^oom_kill //p' /sys/fs/cgroup/memory.events"))).toBeGreaterThan(0)
})

test('a box with nesting stops, and leaves no cgroup', async () => {
  await inBox('nest', 'mkdir -p /sys/fs/cgroup/own/a/b')
  const group = (await machine().run('find /sys/fs/cgroup -type d -name own -path "*/box_*"')).trim()
  expect(group).not.toBe('')
  expect((await client.post(`${boxes}/nest/stop`)).status).toBe(200)
  await machine().until(`[ ! -e ${group.replace(/\/own$/, '')} ]`)
  expect((await client.post(`${boxes}/nest/resume`)).status).toBe(200)
  expect(await inBox('nest', 'echo up')).toBe('up')
})

test('sockets that a box does not read take no more memory than the box may have', async () => {
  const program = Buffer.from(`use strict; ${unreadConnections(64)}; system 'cat /proc/net/sockstat'`).toString(
    'base64',
  )
  await machine().run(`echo ${program} | base64 -d >/tmp/attack.pl`)
  const { body } = await client.get(`${boxes}/plain`)
  const group = (await machine().run(`find /sys/fs/cgroup -type d -name ${body.id}`)).trim()
  const before = tcpMib(await machine().run('cat /proc/net/sockstat'))
  const kills = async (): Promise<string> => machine().run(`sed -n 's/^oom_kill //p' ${group}/memory.events`)
  const killed = await kills()
  // Runs in the box's cgroup, which is what counts. The box itself has no perl.
  const attack = `sh -c 'echo 0 >${group}/cgroup.procs; exec perl /tmp/attack.pl'; echo "ended with $?"`
  const told = await machine().run(attack)
  // The sockets' memory counts for the box. It stays below the box's limit, or the kernel kills the program.
  if (told.includes('ended with 137')) expect(Number(await kills())).toBeGreaterThan(Number(killed))
  else {
    expect(tcpMib(told) - before).toBeGreaterThan(8)
    expect(tcpMib(told) - before).toBeLessThan(128)
  }
  // The kernel charges a packet that it has already accepted beyond the limit (memcontrol.c, mem_cgroup_charge_skmem).
  expect(Number(await machine().run(`cat ${group}/memory.peak`))).toBeLessThan(129 * 1024 ** 2)
})

test('a box that exceeds what it may do with the disk is paused, writes no more than that, and goes on', async () => {
  const config = { cpus: 1, ram_mb: 128, disk_mbps: 1 }
  expect((await client.post(boxes, { name: 'bounded', config })).status).toBe(201)
  const { body } = await client.get(`${boxes}/bounded`)
  const group = (await machine().run(`find /sys/fs/cgroup -type d -name ${body.id}`)).trim()
  // Reads the line of the pool's device, a loop device.
  const written = async (): Promise<{ seconds: number; bytes: number }> => {
    const text = await machine().run(`cut -d " " -f 1 /proc/uptime; cat ${group}/io.stat`)
    const bytes = Number(/^7:.* wbytes=(\d+)/m.exec(text)?.[1] ?? 0)
    return { seconds: Number.parseFloat(text), bytes }
  }
  const writes = 'while :; do dd if=/dev/urandom of=/root/f bs=1M count=4 conv=fsync; done 2>/dev/null'
  expect((await client.shell('demo', 'bounded', writes, { no_hup: true })).status).toBe(202)
  const isPaused = "curl -sS http://127.0.0.1:8092/metrics | grep '^boxyard_boxes_paused_seconds_total [1-9]'"
  await machine().until(isPaused)
  const before = await written()
  await machine().run('sleep 30')
  const after = await written()
  expect(after.bytes).toBeGreaterThan(before.bytes)
  // Allows a burst of one second, plus what one sync writes at once.
  const most = (after.seconds - before.seconds + 1) * 1e6 + 8 * 1024 ** 2
  expect(after.bytes - before.bytes).toBeLessThan(2 * most)
  expect(await inBox('bounded', 'echo on')).toBe('on')
  expect((await client.post(`${boxes}/bounded/stop`)).status).toBe(200)
  expect((await client.get('/healthz')).body.problems).toEqual([])
})
