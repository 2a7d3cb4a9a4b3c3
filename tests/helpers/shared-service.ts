/** An agent and a standalone front with real boxes. Test files cannot restart or configure them. */
export interface SharedService {
  readonly url: string
  readonly agentUrl: string
  /** Origin of the data address, which accepts tickets. */
  readonly dataUrl: string
  /** URL of the Prometheus metrics. */
  readonly metricsUrl: string
  readonly adminToken: string
  readonly dataDir: string
  /** Environment of both processes. The front also has the console's directory. */
  readonly environment: NodeJS.ProcessEnv
  /** Changes when the agent restarts. */
  readonly agentPid: number
  /** 0 without a front. */
  readonly frontPid: number
  /** The last log lines of both processes, oldest first. */
  readonly logs: readonly string[]
  /** Sends a request with the admin token. */
  request(path: string, init?: RequestInit): Promise<Response>
}

/** The service of a jest worker. tests/environment.mjs keeps it from one test file to the next. */
export interface WorkerService {
  /** Starts the service unless it runs. @throws Error if it does not serve. The next call starts another */
  use(): Promise<SharedService>
  /** Deletes the records of the running test file. @throws Error if records or faults remain. It then closes the service */
  endFile(): Promise<void>
  /** Closes the service unless the running test file uses it. */
  closeUnused(): Promise<void>
  /** Returns the pids of the agent and the front. */
  pids(): number[]
}

/** Name of the global variable that gives a test file its worker's service. */
export const WORKER_SERVICE = 'boxyardWorkerService'

/** Returns the service of this worker, or undefined outside a test file. */
export function workerService(): WorkerService | undefined {
  return (globalThis as { [WORKER_SERVICE]?: WorkerService })[WORKER_SERVICE]
}
