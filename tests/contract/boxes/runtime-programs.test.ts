import { cpSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execute, type OciLab, openOciLab, untilGone } from '../../helpers/boxes/oci-lab.ts'
import { capabilities, setAttributes } from '../../helpers/files/attributes.ts'

describe('what programs of a box find', () => {
  let lab: OciLab
  const run = (command: string | string[], changes?: Parameters<typeof execute>[3]): ReturnType<typeof execute> =>
    execute(lab.runtime, 'box_main', command, changes)

  beforeAll(async () => {
    lab = await openOciLab()
    await lab.runtime.start(lab.spec('box_main'))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  test('a command speaks UTF-8, unless its environment chooses a language', async () => {
    const shown = async (environment: Record<string, string>): Promise<string> =>
      (await run('echo "${LANG-none} ${COLORTERM-none}"', { environment })).stdout
    expect(await shown({})).toBe('C.UTF-8 none\n')
    expect(await shown({ LANG: 'de_DE.UTF-8' })).toBe('de_DE.UTF-8 none\n')
    for (const name of ['LC_ALL', 'LC_CTYPE']) expect(await shown({ [name]: 'C' })).toBe('none none\n')
  })

  test.each(Object.entries({ NET_BIND_SERVICE: 10, NET_RAW: 13, IPC_LOCK: 14, SYS_NICE: 23 }))(
    'a program whose file has the capability %s starts, for root and for others',
    async (name, bit) => {
      const { rootPath } = lab.spec('box_main')
      const path = `/tmp/busybox-${name}`
      cpSync('/bin/busybox', `${rootPath}${path}`)
      setAttributes(`${rootPath}${path}`, { 'security.capability': capabilities(1 << bit) })
      for (const user of ['root', 'app']) {
        expect(await run([path, 'echo', 'up'], { user })).toMatchObject({ exitCode: 0, stdout: 'up\n', stderr: '' })
      }
    },
  )

  test('a user other than root may listen at every port', async () => {
    const send = 'echo hi | nc -w 2 127.0.0.1 80'
    const script = `nc -l -p 80 </dev/null & for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; ${send} 2>/dev/null && break; done; wait`
    expect(await run(script, { user: 'app' })).toMatchObject({ exitCode: 0, stdout: 'hi\n', stderr: '' })
  })

  test('a crash leaves a core dump only in a box that may have some, where the host writes files', async () => {
    const crash = 'cd /tmp; rm -f core*; sh -c "kill -SEGV \\$\\$"; ls | grep -c ^core; ulimit -c'
    expect((await run(crash)).stdout).toMatch(/^0\n0\n$/m)
    const isFile = /^core/.test(readFileSync('/proc/sys/kernel/core_pattern', 'utf8'))
    expect((await run(crash, { dumpsCore: true })).stdout).toMatch(isFile ? /^1\n(?!0\n)/ : /^0\n/)
  })
})
