import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { unpackDebian } from '../../helpers/bases/debian-root.ts'
import { type ExecOutcome, execute, type OciLab, openOciLab, untilGone } from '../../helpers/boxes/oci-lab.ts'

const PACKAGES = [
  ...['base-files', 'base-passwd', 'bash', 'bubblewrap', 'busybox-static', 'coreutils', 'crun', 'dash', 'grep'],
  ...['netavark', 'nftables', 'podman'],
]

describe('programs of Debian in a box with nesting', () => {
  let lab: OciLab
  let home: string

  beforeAll(async () => {
    home = mkdtempSync(`${tmpdir()}/boxyard-podman-`)
    const root = `${home}/root`
    await unpackDebian(root, PACKAGES, 240_000)
    execFileSync('chmod', ['755', home, root])
    lab = await openOciLab()
    await lab.runtime.start({ ...lab.spec('box_debian'), rootPath: root, nesting: true, ramMb: 512, pidsMax: 512 })
    const image =
      'mkdir -p /img/bin && cp /usr/bin/busybox /img/bin && for name in sh id ip grep cat sleep; do ln -s busybox /img/bin/$name; done'
    expect(await run(`${image} && busybox tar -C /img -c . | podman import - boxed`)).toMatchObject({ exitCode: 0 })
  }, 300_000)

  afterAll(async () => {
    await lab.close()
    rmSync(home, { recursive: true, force: true })
    await untilGone(lab)
  })

  const run = (command: string, user: string | null = null): Promise<ExecOutcome> =>
    execute(lab.runtime, 'box_debian', ['/bin/bash', '-c', command], {
      user,
      environment: { PODMAN_IGNORE_CGROUPSV1_WARNING: 'true' },
    })

  test('podman runs containers with a network of their own, on an overlay, also in the background', async () => {
    const hello = `podman run --rm --cgroups=disabled boxed sh -c 'echo hello from $(id -u); ip -4 addr show eth0 | grep -c 10.88; cat /proc/1/comm'`
    expect(await run(hello)).toMatchObject({ stderr: '', stdout: 'hello from 0\n1\ncat\n', exitCode: 0 })
    expect((await run('podman info --format "{{.Store.GraphDriverName}}"')).stdout).toBe('overlay\n')
    expect((await run('podman run -d --name long --cgroups=disabled boxed sleep 300')).exitCode).toBe(0)
    expect((await run('podman exec long cat /proc/1/comm')).stdout).toBe('sleep\n')
    await lab.reopen()
    expect((await run('podman ps --format "{{.Names}}"')).stdout).toBe('long\n')
    expect((await run('podman rm -f -t 0 long; podman ps -aq')).stdout).toBe('long\n')
  })

  test('bubblewrap makes a sandbox, for root and for a user', async () => {
    const wrapped =
      'bwrap --ro-bind / / --tmpfs /tmp --dev /dev --proc /proc --unshare-all sh -c "ls /proc | grep -c [0-9]$"'
    for (const user of [null, 'ann']) expect(await run(wrapped, user)).toMatchObject({ exitCode: 0, stderr: '' })
  })
})
