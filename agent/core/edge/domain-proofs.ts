import { createHmac } from 'node:crypto'
import type { BackupKey } from '../../../shared/backup-manifest.ts'
import { createLimiter } from '../../../shared/locks.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { TextRecords } from '../../ports/edge/text-records.ts'
import { type EdgeAddress, isOwnHost } from '../common/urls.ts'

export interface DomainProofsDeps {
  records: TextRecords
  /** Keys that proofs are derived from. Any of them is accepted, and the first one is shown. */
  keys(): readonly Pick<BackupKey, 'secret'>[]
  address: EdgeAddress
}

/** Requires a proof that the publisher of a domain controls its DNS. Otherwise the first project to name a domain would get it. */
export class DomainProofs {
  readonly #deps: DomainProofsDeps
  readonly #questions = createLimiter(QUESTIONS_AT_ONCE)

  constructor(deps: DomainProofsDeps) {
    this.#deps = deps
  }

  /**
   * Checks that each domain has the TXT record of the project. Names below the deployment's domain need none, because the operator controls
   * their DNS.
   * @throws ServiceError `domain_unverified` that names the record which is missing, `runtime_unavailable` if no resolver answers
   */
  async check(project: string, domains: readonly string[]): Promise<void> {
    const foreign = domains.filter((domain) => !isOwnHost(domain, this.#deps.address))
    await Promise.all(foreign.map((domain) => this.#questions.run(() => this.#checkOne(project, domain))))
  }

  async #checkOne(project: string, domain: string): Promise<void> {
    const { records, keys } = this.#deps
    const accepted = keys().map(({ secret }) => proofOf(secret, project, domain))
    const name = `${LABEL}.${domain}`
    const texts = await records.of(name)
    if (texts.some((text) => accepted.includes(text.trim()))) return
    throw refusal('domain_unverified', [
      `"${domain}" is not proven to be of the project "${project}".`,
      `Add the TXT record ${name} with the value ${accepted[0]} to its DNS, and publish again.`,
    ])
  }
}

/** Returns the text of the record that proves a domain for a project. Pure. */
export function proofOf(secret: string, project: string, domain: string): string {
  const digest = createHmac('sha256', Buffer.from(secret, 'base64url')).update(`${PURPOSE}\n${project}\n${domain}`)
  return `boxyard=${digest.digest('base64url')}`
}

const LABEL = '_boxyard-challenge'
const PURPOSE = 'boxyard domain'
const QUESTIONS_AT_ONCE = 16
