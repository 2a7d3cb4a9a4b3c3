import { buildSyscallProgram } from '../../helpers/boxes/syscall-program.ts'
import { LOUD, type LoudTenant } from './loud.ts'

/** Limits the text's memory in a box of 256 MiB. */
const TEXT = 'head -c 8000000 /dev/urandom | od -x >/dev/shm/text'
const WRITE = 'while :; do cat /dev/shm/text >/root/z/f$i; done 2>/dev/null'
// Larger than the memory of the box, so that each pass decompresses again.
const READ = 'while :; do cat /root/z/large* >/dev/null; done'
const LARGE = 'for n in $(seq 24); do cat /dev/shm/text >/root/z/large$n; done; sync'

/**
 * Makes the kernel compress and decompress for a box, in threads outside of the box's limits. Uses the pool's compression, and a slower one
 * that the box's root user chooses for a directory.
 */
export const COMPRESSION_ATTACKS: Record<string, (tenant: LoudTenant) => Promise<() => Promise<void>>> = {
  'text writes ×2': (tenant) => attack(tenant, { line: twice(WRITE) }),
  'zlib writes ×2': (tenant) => attack(tenant, { property: 'zlib', line: twice(WRITE) }),
  'zlib reads ×2': (tenant) => attack(tenant, { property: 'zlib', line: `${LARGE}; ${twice(READ)}` }),
}

const twice = (line: string): string => `for i in 1 2; do (${line}) & done; wait`

async function attack(
  { client, run }: LoudTenant,
  { property, line }: { property?: string; line: string },
): Promise<() => Promise<void>> {
  await client.shell('loud', 'box', `mkdir -p /root/z; ${TEXT}`)
  if (property !== undefined) {
    const number = process.arch === 'arm64' ? '5' : '188'
    const args = ['/root/z', 'btrfs.compression', property, property.length, 0]
    // The busybox base has no setfattr.
    const raw = buildSyscallProgram([{ name: number, args }])
    const headers = { 'content-type': 'application/octet-stream' }
    await client.call('PUT', `${LOUD}/box/files/write?path=/root/compress&mode=0755`, { raw, headers })
    const { exit_code: code } = (await client.shell('loud', 'box', '/root/compress')).body
    if (code !== 0) throw new Error(`The box could not set its compression: errno ${code}.`)
  }
  return run(line)
}
