import type { Writable } from 'node:stream'

/**
 * Writes bytes of a command, a log or a file to stdout or stderr as they are, and waits until it takes more. Returns false once it takes
 * no more: its reader has left, or its disk is full. `Outputs` says so when the process ends.
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
