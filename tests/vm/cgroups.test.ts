import { beforeAll, expect, test } from '@jest/globals'
import { untilServing } from '../helpers/vm/boxyard.ts'
import { useInstalled } from '../helpers/vm/use-installed.ts'

const { machine, client } = useInstalled()
const boxes = '/v1/projects/demo/boxes'
const TOP = '/sys/fs/cgroup'
const MIB = 1024 ** 2
/** Cgroup of the box `nest`, as the host sees it. */
let group = ''

/** Runs a line in a box and returns its output. The line must succeed. */
async function inBox(box: string, line: string): Promise<string> {
  const { body } = await client.shell('demo', box, line)
  expect([line, body]).toEqual([line, expect.objectContaining({ exit_code: 0 })])
  return body.stdout.trim()
}

/** Reads files of the cgroup of the box `nest` on the host. */
async function onHost(...files: string[]): Promise<string> {
  return machine().run(`cd ${group} && cat ${files.join(' ')}`)
}

beforeAll(async () => {
  await machine().run('echo BOXYARD_NESTING=true >>/etc/boxyard/boxyard.conf && systemctl restart boxyard-agent')
  await untilServing(machine())
  // Sets a disk limit, for which the agent enables the io controller.
  const config = { cpus: 1, ram_mb: 128, disk_mbps: 1_000 }
  const [plain, nest] = await Promise.all([
    client.post(boxes, { name: 'plain', config }),
    client.post(boxes, { name: 'nest', config: { ...config, nesting: true } }),
  ])
  expect([plain.status, nest.status]).toEqual([201, 201])
  group = (await machine().run(`find ${TOP} -type d -name ${nest.body.id}`)).trim()
}, 1_800_000)

test('a box sees its own cgroup as the top, and mounts no other', async () => {
  expect(await inBox('plain', 'cat /proc/self/cgroup /proc/1/cgroup')).toMatch(/^0::\/exec-\S+\n0::\/$/)
  expect(await inBox('nest', 'cat /proc/self/cgroup /proc/1/cgroup')).toMatch(/^0::\/exec-\S+\n0::\/init.scope$/)
  const mounted = 'mount -t cgroup2 none /mnt && (cd /mnt && ls -d */); umount /mnt'
  expect(await inBox('nest', mounted)).toMatch(/^exec-\S+\/\ninit.scope\/$/)
  // The cgroup namespace belongs to the box's own user namespace.
  const nested = await client.shell('demo', 'nest', "unshare -Urm sh -c 'mount -t cgroup2 none /mnt'")
  expect([nested.body.exit_code, nested.body.stderr]).toEqual([
    1,
    expect.stringMatching(/permission denied|not permitted/i),
  ])
})

test('a box writes to no file of its own cgroup, or of those of its commands, but moves processes', async () => {
  const writable = (path: string): string =>
    `find ${path} -type f | while read f; do { true >>$f; } 2>/dev/null && echo $f; done; true`
  expect(await inBox('plain', writable(TOP))).toBe('')
  const kept = `${TOP}/cgroup.procs\n${TOP}/cgroup.threads`
  const all = `mount -t cgroup2 none /mnt; ${writable('/mnt')}; umount /mnt; ${writable(TOP)}`
  expect(await inBox('nest', all)).toBe(`/mnt/cgroup.procs\n/mnt/cgroup.threads\n${kept}`)
  expect(await inBox('nest', `unshare -Urm sh -c '${writable(TOP)}'`)).toBe(kept)
  for (const line of ['chmod 666 memory.max', 'chown 0 memory.max', 'rmdir init.scope', 'mv init.scope other'])
    expect([line, (await client.shell('demo', 'nest', `cd ${TOP} && ${line}`)).body.exit_code]).toEqual([line, 1])
})

test('a box has no limits for the disk, by which it could hold up the commit that all boxes wait for', async () => {
  expect((await onHost('cgroup.controllers')).split(' ')).toContain('io')
  const names = await inBox('nest', `mkdir ${TOP}/own; cd ${TOP}/own; cat cgroup.controllers; ls`)
  expect(names).toMatch(/^cpuset cpu memory pids\n/)
  expect(names).not.toMatch(/^io\.(max|weight|latency)$/m)
})

test('the choice of controllers that an older version left to a box is taken back as the agent starts', async () => {
  const file = 'cgroup.subtree_control'
  await machine().run(`chown --reference=${group}/cgroup.procs ${group}/${file}`)
  await inBox('nest', `cd ${TOP}; echo +io >${file}; echo +io >own/${file}; mkdir own/deep; ls own/deep/io.max`)
  await machine().run('systemctl restart boxyard-agent')
  await untilServing(machine())
  expect(await machine().run(`cd ${group}; stat -c %u ${file}; cat ${file} own/cgroup.controllers`)).toBe(
    '0\ncpuset cpu memory pids\ncpuset cpu memory pids',
  )
})

test('a command that moves itself to a frozen cgroup ends by its time-out, a detached one too', async () => {
  const trap = `mkdir ${TOP}/$0; echo 0 >${TOP}/$0/cgroup.procs; echo 1 >${TOP}/$0/cgroup.freeze; sleep 600`
  const line = (name: string): string => `sh -c '${trap}' ${name}; exit`
  const attached = await client.shell('demo', 'nest', `exec ${line('one')}`, { timeout_seconds: 3 })
  expect(attached.body).toMatchObject({ status: 'timed_out' })
  const detached = await client.shell('demo', 'nest', `exec ${line('two')}`, { timeout_seconds: 3, no_hup: true })
  expect(detached.body).toMatchObject({ id: expect.any(String) })
  const { body } = await client.get(`${boxes}/nest/exec/${detached.body.id}?wait_seconds=20`)
  expect(body).toMatchObject({ status: 'timed_out' })
  expect(await onHost('one/cgroup.freeze', 'two/cgroup.freeze')).toBe('1\n1')
})

test('memory stays charged to the box after the cgroup that took it is gone', async () => {
  const before = Number(await onHost('memory.current'))
  await inBox(
    'nest',
    `cd ${TOP}; mkdir gone; sh -c "echo 0 >gone/cgroup.procs; head -c 48m /dev/zero >/dev/shm/kept"; rmdir gone`,
  )
  expect(Number(await onHost('memory.current')) - before).toBeGreaterThan(40 * MIB)
  expect(await onHost('memory.swap.max')).toBe('0')
  await inBox('nest', 'rm /dev/shm/kept')
})

test('the snapshot of a box that freezes its processes is made, and thaws none of them', async () => {
  await inBox(
    'nest',
    `cd ${TOP}; mkdir -p ice/cube; for i in ice ice/cube; do (sleep 600 >/dev/null 2>&1 & echo $! >$i/cgroup.procs); done; echo 1 >ice/cgroup.freeze`,
  )
  expect((await client.post(`${boxes}/nest/snapshots`, { name: 'cold' })).status).toBe(201)
  expect(await inBox('nest', `cat ${TOP}/ice/cgroup.freeze; grep frozen ${TOP}/ice/cgroup.events`)).toBe('1\nfrozen 1')
  expect(await onHost('cgroup.freeze')).toBe('0')
})

test('a box with all the cgroups that it may have, threaded ones and deaf processes stops, and leaves none', async () => {
  const attack = `cd ${TOP}; mkdir -p own/threads; echo threaded >own/threads/cgroup.type
    (trap '' TERM; sleep 600 & echo $! >own/cgroup.procs; echo $! >own/threads/cgroup.threads)
    mkdir slow; for i in $(seq 50); do (sleep 600 & echo $! >slow/cgroup.procs); done; echo 1000 1000000 >slow/cpu.max
    mkdir -p own/a/b/c/d/e/f/g/h/i/j/k/l/m; mkdir $(seq 300 | sed s,^,own/w,); sleep 600`
  expect((await client.shell('demo', 'nest', attack, { no_hup: true })).status).toBe(202)
  await machine().until(`grep -x 'nr_descendants 256' ${group}/cgroup.stat`)
  expect(await onHost('own/threads/cgroup.threads')).toMatch(/^\d+$/)
  expect((await onHost('slow/cgroup.procs', 'slow/cpu.max')).split('\n')).toHaveLength(51)
  const { status, body } = await client.shell('demo', 'nest', 'true')
  expect([status, body.code, body.detail]).toEqual([409, 'box_busy', expect.stringContaining('256 cgroups')])
  const stopped = client.post(`${boxes}/nest/stop`)
  // Another box of the same agent still answers.
  expect(await inBox('plain', 'echo answered')).toBe('answered')
  expect((await stopped).status).toBe(200)
  await machine().until(`[ ! -e ${group} ]`)
  expect((await client.post(`${boxes}/nest/resume`)).status).toBe(200)
  expect(await inBox('nest', 'echo up')).toBe('up')
})
