import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execute, type OciLab, openOciLab, untilGone } from '../../helpers/boxes/oci-lab.ts'

describe('the runtime', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  test('/run loses its files and the state of programs at a start, and keeps directories of packages', async () => {
    const spec = lab.spec('box_runs')
    await lab.runtime.start(spec)
    const made = [
      'mkdir -p -m 2750 /run/sshd /run/a/b && chown 3:4 /run/sshd && touch /run/pid /run/a/b/lock',
      'mkfifo /run/a/fifo && ln -s /etc /run/a/link && printf x >"/run/$(printf "\\377")"',
      // Directories in which crun, podman and containerd keep the state of containers.
      'mkdir -p /run/crun/c1 /run/engine/tasks/moby/c2/rootfs /run/engine/empty/deep && touch /run/crun/c1/status /run/engine/tasks/moby/c2/pid',
      'mkdir -p /run/user/1000/gnupg /run/lock/apache2 && touch /run/user/1000/bus /run/user/1000/gnupg/s /run/lock/apache2/pid',
    ]
    expect(await execute(lab.runtime, spec.id, made.join(' && '))).toMatchObject({ exitCode: 0, stderr: '' })
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    await lab.runtime.start(spec)
    const { stdout } = await execute(
      lab.runtime,
      spec.id,
      'find /run | sort; stat -c "%a %u %g" /run/sshd; ls -d /etc/hosts',
    )
    const kept = [
      'a',
      'crun',
      'engine',
      'engine/empty',
      'engine/empty/deep',
      'lock',
      'lock/apache2',
      'sshd',
      'user',
      'user/1000',
    ]
    expect(stdout).toBe(`/run\n${kept.map((name) => `/run/${name}\n`).join('')}2750 3 4\n/etc/hosts\n`)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test('a /run that leads elsewhere, or is filled, delays no start and touches nothing else', async () => {
    const spec = lab.spec('box_fills')
    await lab.runtime.start(spec)
    const fill = 'mkdir -p /run/many && cd /run/many && seq 12000 | xargs touch && touch /etc/kept'
    expect(await execute(lab.runtime, spec.id, fill)).toMatchObject({ exitCode: 0, stderr: '' })
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    await lab.runtime.start(spec)
    const swap = 'ls /run/many | wc -l; mv /run /old && ln -s /etc /run'
    expect(await execute(lab.runtime, spec.id, swap)).toMatchObject({ exitCode: 0, stdout: '2001\n' })
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    await lab.runtime.start(spec)
    expect(await execute(lab.runtime, spec.id, 'ls /etc/kept && ls /old/many | wc -l')).toMatchObject({
      stdout: '/etc/kept\n2001\n',
    })
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })
})
