import { expect, test } from '@jest/globals'
import { createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { eventually, untilSteady } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const { service } = useSharedService()

test('a key that stops a flood in a console takes effect behind at most 2 MiB of it', async () => {
  const { url, adminToken } = service()
  const box = await createBoxyard({ url, token: () => adminToken }).createBox('sdk', { name: 'flooded' })
  const console = await box.console()
  const output = console[Symbol.asyncIterator]()
  const take = async (): Promise<Buffer> => Buffer.from((await output.next()).value?.bytes ?? [])
  await console.write(Buffer.from("sh -c 'echo $$ >/tmp/flood; exec seq 100000000'\n"))
  // The kernel grows the buffers of a connection as it carries more data.
  for (let bytes = 0; bytes < 32 * 1024 ** 2; ) bytes += (await take()).length
  const written = async (): Promise<string> => (await box.run('grep wchar /proc/$(cat /tmp/flood)/io')).stdout
  expect(await untilSteady(written, 300)).toMatch(/wchar: \d{8}/)
  await console.write(Buffer.from('\u0003'))
  await eventually(async () => (await box.run('! test -d /proc/$(cat /tmp/flood)')).exit_code === 0)
  await console.write(Buffer.from('echo over-$((1 + 1))\n'))
  let [bytes, end] = [0, '']
  while (!end.includes('over-2')) {
    const piece = await take()
    bytes += piece.length
    end = `${end}${piece.toString('latin1')}`.slice(-1000)
  }
  expect(bytes).toBeLessThan(2 * 1024 ** 2)
  console.close()
  await box.delete()
})
