import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestService } from '../service.ts'

/** Returns the environment variables of a function that uses a service's agent, with the agent's current keys. */
export function functionVariables({ agentUrl, dataDir }: TestService): Record<string, string> {
  const readKeys = (name: string): string => readFileSync(join(dataDir, 'keys', name), 'utf8')
  return {
    BOXYARD_AGENT_URL: agentUrl,
    BOXYARD_AGENT_TIMEOUT_SECONDS: '28',
    BOXYARD_CHANNEL_KEYS: readKeys('channel.json'),
    BOXYARD_TOKEN_KEYS: readKeys('token-public.json'),
  }
}
