/**
 * Source of a module that uses streams, waits and errors of the SDK, the same on every platform.
 * `tryOut` takes a service URL, a token, and the name of a box to create in the project `runtimes`. It returns SDK_PROGRAM_SEES and one
 * more value.
 */
export const SDK_PROGRAM = `
import { BoxNotFoundError, createBoxyard } from '@boxyard/sdk'

export async function tryOut(url: string, token: string, name: string): Promise<unknown[]> {
  const boxyard = createBoxyard({ url, token })
  const box = await boxyard.createBox('runtimes', { name, config: { ram_mb: 64 } })
  const { stdout } = await box.run('echo hello')
  const stream = await box.stream(['sh', '-c', 'cat; exit 4'], { stdin: true })
  await stream.write(new TextEncoder().encode('typed'))
  await stream.endInput()
  let typed = ''
  for await (const { bytes } of stream) typed += new TextDecoder().decode(bytes)
  const { exitCode } = await stream.ended()
  await box.writeFile('/root/file', new Blob(['from ', 'a stream']).stream())
  const file = await new Response(await box.readFile('/root/file')).text()
  const refusal: unknown = await boxyard.box('runtimes', 'none').stream(['true']).catch((error: unknown) => error)
  let created = ''
  for await (const { type, resource } of boxyard.events('runtimes', { types: ['box.created'] })) {
    created = type
    if (resource.endsWith(name)) break
  }
  return [stdout, typed, exitCode, file, refusal instanceof BoxNotFoundError, created, stream.id?.slice(0, 4) ?? null]
}
`

/** Results of `tryOut` except the last. The last is the start of a stream's id, or null if the platform hides WebSocket headers. */
export const SDK_PROGRAM_SEES = ['hello\n', 'typed', 4, 'from a stream', true, 'box.created'] as const
