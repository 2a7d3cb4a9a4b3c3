import type { Box } from '../../../shared/schemas/boxes.ts'
import { timestamp } from '../../../shared/time.ts'
import { type EdgeAddress, hostOfBox, urlOf } from '../../core/common/urls.ts'
import type { Cell, KeptHome } from '../../ports/fleet/directory.ts'

export interface CardViewOptions {
  address: EdgeAddress
  /** The grace period of new boxes. */
  gracePeriodSeconds: number
}

/**
 * Returns the Box of the API for a box whose cell does not answer. Shows how the box was created, from its cached summary. Null for an
 * ownership record without a summary. `cell` null: that cell has no agent.
 */
export function viewBoxCard(
  home: KeptHome,
  cell: Cell | null,
  { address, gracePeriodSeconds }: CardViewOptions,
): Box | null {
  const { uid: id, project, name, card } = home
  if (card === null || card.config === null) return null
  const createdAt = timestamp(card.createdAt)
  return {
    id,
    name,
    project,
    status: 'unknown',
    state: {
      reason: 'host_lost',
      message: `The agent of cell ${home.cell} is unreachable. This is the original state of the box. Its mounts, environment, domains and tags are unknown.`,
      since: timestamp(Math.max(cell?.heartbeatAt ?? 0, card.createdAt)),
    },
    created_at: createdAt,
    updated_at: createdAt,
    base: card.base,
    fork_of: card.forkOf,
    node: cell?.node ?? '',
    config: card.config,
    data_mounts: [],
    environment: {},
    port: card.port,
    protocol: 'http',
    published_domains: [],
    tags: {},
    termination_grace_period_seconds: gracePeriodSeconds,
    url: urlOf(hostOfBox({ id, project, name }, address), address),
    url_settings: { auth: 'token', wake: false, idle_stop_seconds: null },
    lease_until: null,
  }
}
