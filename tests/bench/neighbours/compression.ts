import { buildSyscallProgram } from '../../helpers/boxes/syscall-program.ts'
import { LOUD, type LoudTenant } from './loud.ts'

/** Bounds the memory that the text takes in the box, of 256 MiB. */
const TEXT = 'head -c 8000000 /dev/urandom | od -x >/dev/shm/text'
const WRITE = 'while :; do cat /dev/shm/text >/root/z/f$i; done 2>/dev/null'
// More than the memory of the box, so that each pass is decompressed anew.
const READ = 'while :; do cat /root/z/large* >/dev/null; done'
const LARGE = 'for n in $(seq 24); do cat /dev/shm/text >/root/z/large$n; done; sync'

/**
 * What a box has the kernel compress and decompress, which its threads do outside of the bound of the box: with the compression of the
 * pool, and with a slower one that root of the box chooses for a directory.
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
    // A base of busybox has no setfattr.
    const raw = buildSyscallProgram([{ name: number, args }])
    const headers = { 'content-type': 'application/octet-stream' }
    await client.call('PUT', `${LOUD}/box/files/write?path=/root/compress&mode=0755`, { raw, headers })
    const { exit_code: code } = (await client.shell('loud', 'box', '/root/compress')).body
    if (code !== 0) throw new Error(`The box could not set its compression: errno ${code}.`)
  }
  return run(line)
}
