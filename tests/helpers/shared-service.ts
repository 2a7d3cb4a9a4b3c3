/** An agent and a standalone front with real boxes, without the means to restart or configure them. */
export interface SharedService {
  readonly url: string
  readonly agentUrl: string
  /** Origin of the data address, which accepts tickets. */
  readonly dataUrl: string
  /** URL of the metrics for Prometheus. */
  readonly metricsUrl: string
  readonly adminToken: string
  readonly dataDir: string
  /** The environment of both processes; the front has the directory of the console besides. */
  readonly environment: NodeJS.ProcessEnv
  /** Changes when the agent is started again. */
  readonly agentPid: number
  /** 0 without a front. */
  readonly frontPid: number
  /** The last log lines of both, oldest first. */
  readonly logs: readonly string[]
  /** Sends a request with the admin token. */
  request(path: string, init?: RequestInit): Promise<Response>
}

/** The service of a jest worker. tests/environment.mjs keeps it from one test file to the next. */
export interface WorkerService {
  /** Starts the service unless it runs. @throws Error if it does not serve; the next call starts another */
  use(): Promise<SharedService>
  /** Deletes the records of the running test file. @throws Error if the service does not come to rest; this closes it */
  endFile(): Promise<void>
  /** Closes the service, unless the running test file uses it. */
  closeUnused(): Promise<void>
  /** Returns the process ids of agent and front. */
  pids(): number[]
}

/** Name of the global variable that gives a test file the service of its worker. */
export const WORKER_SERVICE = 'boxyardWorkerService'

/** Returns the service of this worker; undefined outside of a test file. */
export function workerService(): WorkerService | undefined {
  return (globalThis as { [WORKER_SERVICE]?: WorkerService })[WORKER_SERVICE]
}
