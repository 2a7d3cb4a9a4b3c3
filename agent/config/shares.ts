import * as z from 'zod'
import type { BoxShares } from '../ports/boxes/limits.ts'
import { whole } from './variables.ts'

/** Most that a project without a quota of its own may have. Null is unlimited. */
export interface DefaultQuota {
  boxes: number | null
  cpus: number | null
  ramMb: number | null
  storageGb: number | null
}

const FIELDS = { boxes: 'boxes', cpus: 'cpus', ram_mb: 'ramMb', storage_gb: 'storageGb' } as const
const ITEM = /^(boxes|cpus|ram_mb|storage_gb)=(\d{1,9}(?:\.\d{1,3})?)$/

const quota = z
  .string()
  .default('')
  .refine(
    (text) => text === '' || text.split(',').every((item) => ITEM.test(item)),
    'expected bounds such as boxes=20,cpus=8,ram_mb=16384,storage_gb=200',
  )
  .transform((text): DefaultQuota => {
    const given = text.split(',').flatMap((item) => {
      const [, name, amount] = ITEM.exec(item) ?? []
      return name === undefined ? [] : [[FIELDS[name as keyof typeof FIELDS], Number(amount)] as const]
    })
    return { boxes: null, cpus: null, ramMb: null, storageGb: null, ...Object.fromEntries(given) }
  })

/** Variables for the share that one box or project gets of a shared resource. */
export const SHARE_VARIABLES = {
  BOXYARD_BOXES_MAX: whole(1000, 1, 1000),
  BOXYARD_VOLUMES_MAX: whole(10_000, 0, 1_000_000),
  BOXYARD_PIDS_PER_BOX: whole(1024, 16, 4_000_000),
  BOXYARD_NETWORK_MBPS: whole(1000, 0, 100_000),
  BOXYARD_DISK_MBPS: whole(0, 0, 100_000),
  BOXYARD_DISK_IOPS: whole(0, 0, 10_000_000),
  BOXYARD_POOL_RESERVE_PERCENT: whole(10, 0, 50),
  BOXYARD_DEFAULT_QUOTA: quota,
}

type ShareName = 'BOXYARD_NETWORK_MBPS' | 'BOXYARD_DISK_MBPS' | 'BOXYARD_DISK_IOPS'

/** Reads the shares of a box, the default and the most that one may have. 0 means unlimited. */
export function boxSharesOf(env: Record<ShareName, number>): BoxShares {
  const { BOXYARD_NETWORK_MBPS: networkMbps, BOXYARD_DISK_MBPS: diskMbps, BOXYARD_DISK_IOPS: diskIops } = env
  return { networkMbps: networkMbps || null, diskMbps: diskMbps || null, diskIops: diskIops || null }
}
