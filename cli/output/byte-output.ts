import type { Writable } from 'node:stream'

/**
 * Writes bytes of a command, log or file unchanged to stdout or stderr, and waits until it accepts more. Returns false once it accepts no
 * more, because its reader has left or its disk is full. `Outputs` reports this when the process ends.
 */
export async function writeBytes(output: Writable, bytes: string | Uint8Array): Promise<boolean> {
  if (broken.has(output)) return false
  await new Promise<void>((resolve) => {
    const hasRoom = output.write(bytes, (error) => {
      if (error) broken.add(output)
      resolve()
    })
    if (hasRoom) resolve()
  })
  return !broken.has(output)
}

const broken = new WeakSet<Writable>()
