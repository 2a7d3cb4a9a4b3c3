import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startWarmService, type WarmService } from '../helpers/boxes/warm-pool.ts'
import { limitsInForce, mountsOf } from '../helpers/boxes/world.ts'
import { type BoxSeen, pidsOfBox, until } from '../helpers/pods/weather.ts'

const DATA = '/v1/projects/weather/data'

describe('a box in a warm pod', () => {
  let service: WarmService
  let one: BoxSeen
  let two: BoxSeen

  beforeAll(async () => {
    service = await startWarmService(2)
    one = await service.createWarm('one', { config: { cpus: 0.25, ram_mb: 96, storage_gb: 1 } })
    two = await service.createWarm('two', { config: { cpus: 0.5, ram_mb: 64, storage_gb: 1 } })
  })
  afterAll(() => service.close())

  /** Returns the output of a command in a box that started cold, and in one that started warm. */
  const compare = async (line: string): Promise<[string, string]> => [
    await service.run('cold', line),
    await service.run('one', line),
  ]

  test('has its own name, address, ids and files', async () => {
    const names = 'hostname; cat /etc/hostname; cat /proc/sys/kernel/hostname'
    expect(await service.run('one', names)).toBe('one\none\none\n')
    expect(await service.run('two', names)).toBe('two\ntwo\ntwo\n')
    for (const read of ['cat /etc/machine-id', 'cat /proc/self/uid_map', 'hostname -i'])
      expect(await service.run('one', read)).not.toBe(await service.run('two', read))
    const hosts = await service.run('one', 'cat /etc/hosts')
    for (const name of ['one', 'two']) {
      const address = (await service.run(name, 'hostname -i')).trim()
      expect(hosts).toMatch(new RegExp(`^${address}\\s+${name}$`, 'm'))
    }
  })

  test('reaches others of its project, and is reached by them', async () => {
    for (const [name, other] of [
      ['one', 'two'],
      ['two', 'one'],
    ] as const) {
      await service.client.shell('weather', name, `echo from ${name} | nc -l -p 9000`, { no_hup: true })
      const ask = (): Promise<string> => service.run(other, `nc -w 5 ${name} 9000 </dev/null || true`)
      await until(async () => (await ask()) === `from ${name}\n`, `${other} hears ${name}`)
    }
  })

  test('has its limits at once, and soon in the cluster as well', async () => {
    expect(limitsInForce(service.service, one.id)).toEqual({ cpus: 0.25, ramMb: 96 })
    expect(limitsInForce(service.service, two.id)).toEqual({ cpus: 0.5, ramMb: 64 })
    await until(() => service.podOf('one').limits.memory === '96Mi', 'the pod tells the limits')
    expect(service.podOf('one').limits).toEqual({ cpu: '250m', memory: '96Mi' })
    const allocated = 'jsonpath={.status.containerStatuses[0].resources.limits.memory}'
    const read = (): string => service.kubectl('get', 'pod', service.podOf('one').name, '-o', allocated)
    await until(() => read() === '96Mi', 'the kubelet has seen to it')
    expect(limitsInForce(service.service, one.id)).toEqual({ cpus: 0.25, ramMb: 96 })
  })

  test('is found by kubectl like any other, and kubectl exec enters it', async () => {
    const { name } = service.podOf('one')
    const labels = JSON.parse(service.kubectl('get', 'pod', name, '-o', 'jsonpath={.metadata.labels}'))
    expect(labels).toMatchObject({
      'app.kubernetes.io/name': 'box',
      'boxyard.dev/project': 'weather',
      'boxyard.dev/box': 'one',
      'boxyard.dev/box-id': one.id,
    })
    expect(labels).not.toHaveProperty(['boxyard.dev/warm'])
    await service.run('one', 'echo mine >/root/mark')
    const inside = 'hostname; cat /root/mark; grep CapEff /proc/self/status; ls /proc/1/root | wc -l; ls / | wc -l'
    expect(service.kubectl('exec', name, '--', 'sh', '-c', inside)).toMatch(/^one\nmine\nCapEff:\t0{16}\n(\d+)\n\1\n$/)
  })

  test('has the rights, bounds and mounts of one that started cold', async () => {
    // Gives the cold box a longer grace period than a warm pod has, so that it cannot use one.
    await service.createWarm('cold', { config: { cpus: 0.25, ram_mb: 96, storage_gb: 1 } })
    await service.client.put(`${service.boxes}/cold`, { termination_grace_period_seconds: 11 })
    for (const act of ['stop', 'resume'] as const) await service.turn(act, 'cold')
    expect(service.podOf('cold').name).not.toMatch(/^warm-/)
    const rights = '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)'
    const lines = [
      `for pid in 1 self; do grep -E '${rights}' /proc/$pid/status; cat /proc/$pid/limits /proc/$pid/oom_score_adj; done`,
      'cat /proc/1/cgroup; readlink /proc/1/exe /proc/1/root /proc/1/cwd; for fd in /proc/1/fd/*; do readlink $fd; done',
      // Compares root, path, options and type of each mount, without ids, peer groups, sizes or owners.
      "cut -d' ' -f4- /proc/self/mountinfo | sed 's/box_[0-9a-z]*/BOX/g; s/id=[0-9]*/id=N/g; s/ master:[0-9]*//' | sort",
      "cut -d' ' -f4- /proc/1/mountinfo | sed 's/box_[0-9a-z]*/BOX/g; s/id=[0-9]*/id=N/g; s/ master:[0-9]*//' | sort",
      'cd /; ls -ld . dev dev/* proc run run/* sys; ls -lan /etc/hosts /etc/resolv.conf; ls -di / /proc/1/root/. | cut -c1-3',
      'ls /sys /sys/* /sys/class/net; wc -c </proc/keys; wc -c </proc/interrupts',
      'tr "\\0" "\\n" </proc/1/cmdline; ulimit -a',
    ]
    for (const line of lines) {
      const [cold, warm] = await compare(line)
      expect(unlike(warm)).toBe(unlike(cold))
      expect(warm.length).toBeGreaterThan(20)
    }
    await service.client.delete(`${service.boxes}/cold`)
  })

  test('finds nothing of the earlier pod', async () => {
    const seen = await service.run('one', 'cat /proc/*/mountinfo; ls -lR /proc/1/root/run /proc/1/cwd/run; env')
    expect(seen).not.toMatch(/stub|warm-/)
    const [init = 0] = pidsOfBox(service, one)
    expect(await service.run('one', 'stat -c %d:%i / /proc/1/root/. /proc/1/cwd/. | sort -u | wc -l')).toBe('1\n')
    expect(init).toBeGreaterThan(0)
  })

  test('is forked, stopped, resumed, changed and mounted to like any other', async () => {
    await service.run('two', 'echo data >/root/file; sync')
    await service.untilFull()
    expect((await service.client.post(service.boxes, { name: 'copy', fork: 'two' })).status).toBe(201)
    expect(service.podOf('copy').name).toMatch(/^warm-/)
    expect(await service.run('copy', 'cat /root/file; hostname')).toBe('data\ncopy\n')
    for (const act of ['stop', 'resume'] as const) await service.turn(act, 'copy')
    expect(await service.run('copy', 'cat /root/file')).toBe('data\n')
    const change = { config: { cpus: 1, ram_mb: 128 } }
    expect(await service.client.put(`${service.boxes}/copy`, change)).toMatchObject({ status: 200 })
    const { id } = await service.getBox('copy')
    // The kubelet may still be applying the pod's change to the box's limits.
    const isChanged = (): boolean => JSON.stringify(limitsInForce(service.service, id)) === '{"ramMb":128,"cpus":1}'
    await until(isChanged, 'the kubelet leaves the box its limits')
    await until(() => service.podOf('copy').limits.memory === '128Mi', 'the pod tells the limits')
    await service.client.post(DATA, { name: 'disk', size_gb: 1 })
    const attached = await service.client.post(`${DATA}/disk/attach`, { box: 'copy', path: '/mnt/disk' })
    expect([attached.status, attached.text]).toEqual([200, expect.any(String)])
    expect(mountsOf(service.service, id)).toEqual([expect.objectContaining({ path: '/mnt/disk' })])
    await service.run('copy', 'echo kept >/mnt/disk/file')
    const { body } = await service.client.shell('weather', 'copy', 'sleep 1; cat /mnt/disk/file', { no_hup: true })
    await service.service.killAgent()
    await service.service.startAgent()
    const exec = `${service.boxes}/copy/exec/${body.id}`
    await until(async () => (await service.client.get(exec)).body.status === 'exited', 'the held command ends')
    expect((await service.client.get(exec)).body).toMatchObject({ exit_code: 0, stdout: 'kept\n' })
    expect((await service.client.post(`${DATA}/disk/detach`, { box: 'copy' })).status).toBe(200)
    expect((await service.client.delete(`${service.boxes}/copy`)).status).toBe(204)
    expect((await service.client.delete(`${DATA}/disk`)).status).toBe(204)
  })
})

/** Removes numbers that vary, such as the link count of /proc, which depends on the processes of the host. */
function unlike(text: string): string {
  const dated = text.replaceAll(/[A-Z][a-z]{2} +\d+ \d\d:\d\d/g, 'DATE')
  return dated.replaceAll(/^(dr-xr-xr-x) +\d+ (.* proc)$/gm, '$1 N $2')
}
