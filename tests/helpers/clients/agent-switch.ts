import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestService } from '../service.ts'

/** A server that lets a tested program kill the agent of a service (`POST /kill`) and restart it (`POST /start`). */
export interface AgentSwitch {
  readonly url: string
  close(): void
}

/** Opens the switch of a service. It answers once the step has completed. */
export async function openAgentSwitch(service: TestService): Promise<AgentSwitch> {
  const steps: Record<string, () => Promise<void>> = {
    '/kill': () => service.killAgent(),
    '/start': () => service.startAgent(),
  }
  const server = createServer((request, answer) => {
    const step = steps[request.url ?? ''] ?? (() => Promise.reject(new Error('there is no such step')))
    step().then(
      () => answer.end(),
      (error: unknown) => answer.writeHead(500).end(String(error)),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
