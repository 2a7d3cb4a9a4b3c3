import { resolveCname } from 'node:dns/promises'
import { NONE, type StageSettings } from './settings.ts'

/**
 * Checks, before removing the console of a stage, that no foreign DNS record still leads to its distribution. Otherwise no client could
 * reach the API. An alias record shows no name, so it passes.
 * @throws Error that says where it must point
 */
export async function checkRecord(
  settings: StageSettings,
  outputs: ReadonlyMap<string, string> | null,
  resolve: (name: string) => Promise<string[]> = resolveCname,
): Promise<void> {
  const distribution = outputs?.get('DomainTarget')
  const target = outputs?.get('ApiTarget')
  const isKept = settings['console-certificate'] !== NONE || settings.domain === NONE
  if (distribution === undefined || target === undefined || isKept || settings['hosted-zone'] !== NONE) return
  const names = await resolve(settings.domain).catch(() => [])
  if (!names.some((name) => name.toLowerCase() === distribution.toLowerCase())) return
  throw new Error(
    `${settings.domain} still points to ${distribution}, which this deletes with the console. Point it to ${target}, wait for the TTL of the record, and repeat.`,
  )
}
