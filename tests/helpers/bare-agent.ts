import { createOciRuntime } from '../../agent/drivers/boxes/runtime-oci.ts'
import { createNftNetwork } from '../../agent/drivers/network/nft-network.ts'
import type { Runtime } from '../../agent/ports/boxes/runtime.ts'
import { silentLogger } from './silent-logger.ts'

/** Configuration of a bare agent, with its network settings and its runtime's directory. */
export interface BareAgentTask {
  network: Omit<Parameters<typeof createNftNetwork>[0], 'logger'>
  runDir: string
  instanceId: string
}

/** Opens a network and a runtime in this process, without the rest of an agent. Prints `ready` and waits for a line of input. */
export async function startBareAgent(task: BareAgentTask): Promise<Runtime> {
  const network = createNftNetwork({ ...task.network, logger: silentLogger })
  await network.open()
  const runtime = createOciRuntime({ ...task, network, logger: silentLogger })
  await runtime.open()
  process.stdout.write('ready\n')
  await new Promise((resolve) => process.stdin.once('data', resolve))
  return runtime
}
