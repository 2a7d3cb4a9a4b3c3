import { resolveCname } from 'node:dns/promises'
import { NONE, type StageSettings } from './settings.ts'

/**
 * Checks, before the console of a stage is taken away, that a record which is not the stage's own no longer leads to its distribution:
 * nobody could reach the API. An alias record shows no name, so that it passes.
 * @throws Error that says where it has to point
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
