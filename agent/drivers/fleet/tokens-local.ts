import type { FleetTokens } from '../../ports/fleet/tokens.ts'

/** Creates the tokens of an agent without a fleet. Only this agent has records of them, in its database. */
export function createLocalTokens(): FleetTokens {
  const nothing = async (): Promise<void> => undefined
  return {
    cell: null,
    publish: nothing,
    change: nothing,
    revoke: nothing,
    read: async () => null,
    removeToken: nothing,
    removeRevocation: nothing,
    follow: nothing,
  }
}
