import { createOciRuntime } from '../../agent/drivers/boxes/runtime-oci.ts'
import { createNftNetwork } from '../../agent/drivers/network/nft-network.ts'
import type { Runtime } from '../../agent/ports/boxes/runtime.ts'
import { silentLogger } from './silent-logger.ts'

/** What the parent of a bare agent gives: the settings of its network, and the directory of the runtime. */
export interface BareAgentTask {
  network: Omit<Parameters<typeof createNftNetwork>[0], 'logger'>
  runDir: string
  instanceId: string
}

/** An agent with nothing but a network and a runtime, in a process of its own: says `ready`, and waits for a line of input. */
export async function startBareAgent(task: BareAgentTask): Promise<Runtime> {
  const network = createNftNetwork({ ...task.network, logger: silentLogger })
  await network.open()
  const runtime = createOciRuntime({ ...task, network, logger: silentLogger })
  await runtime.open()
  process.stdout.write('ready\n')
  await new Promise((resolve) => process.stdin.once('data', resolve))
  return runtime
}
