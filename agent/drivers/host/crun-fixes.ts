/**
 * First versions of crun with every published security fix, by distribution (`ID` and `VERSION_ID` of os-release).
 *
 * Source: https://security-tracker.debian.org/tracker/source-package/crun, the archive of November 2026, and crun's NEWS:
 * CVE-2022-27650 (1.4.4), CVE-2025-24965 (1.20, krun only), CVE-2026-30892 (1.27), CVE-2026-47766 (1.28). A release of Debian gets fixes
 * without a new upstream version, so its own package version counts there.
 */
export const CRUN_FIXED_PACKAGES: Readonly<Record<string, string>> = {
  'debian 12': '1.8.1-1+deb12u1',
  'debian 13': '1.21-1',
  // Testing and unstable have no VERSION_ID.
  'debian ': '1.28-1',
}

/** The same for a crun that no package of the distribution brought. */
export const CRUN_FIXED_UPSTREAM = { version: '1.28', advisory: 'CVE-2026-47766' } as const

/** Returns the first fixed package version for the text of an os-release file, or null for a distribution that is not in the table. */
export function fixedPackageOf(osRelease: string): string | null {
  const valueOf = (name: string): string => new RegExp(`^${name}="?([^"\n]*)"?$`, 'm').exec(osRelease)?.[1] ?? ''
  return CRUN_FIXED_PACKAGES[`${valueOf('ID')} ${valueOf('VERSION_ID')}`] ?? null
}
