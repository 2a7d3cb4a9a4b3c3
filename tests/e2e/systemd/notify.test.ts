import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { startService } from '../../helpers/service.ts'
import { bindDatagrams } from '../../helpers/systemd/datagrams.ts'

test('the agent tells systemd what it builds, that it serves, that it lives, and that it stops', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-notify-'))
  const socket = bindDatagrams(join(directory, 'notify'))
  const messages: string[] = []
  const receive = (): string[] => {
    messages.push(...socket.receive())
    return messages
  }
  try {
    const service = await startService({
      settings: { NOTIFY_SOCKET: join(directory, 'notify'), WATCHDOG_USEC: '200000' },
      front: false,
    })
    try {
      await eventually(() => receive().some((message) => message.startsWith('READY=1\n')))
      expect((await fetch(service.metricsUrl)).status).toBe(200)
      const told = messages.filter((message) => message !== 'WATCHDOG=1')
      expect(told[0]).toBe('STATUS=Building the busybox base')
      expect(told.at(-1)).toMatch(/^READY=1\nSTATUS=Serving functions at 127\.0\.0\.1:\d+$/)
      const fed = (): number => receive().filter((message) => message === 'WATCHDOG=1').length
      const before = fed()
      await eventually(() => fed() > before + 2)
      await service.killAgent('SIGTERM')
      expect(receive().some((message) => message.startsWith('STOPPING=1\n'))).toBe(true)
    } finally {
      await service.close()
    }
  } finally {
    socket.close()
    rmSync(directory, { recursive: true, force: true })
  }
})
