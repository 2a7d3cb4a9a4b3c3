/** Variables that a service manager sets for its services, such as NOTIFY_SOCKET (sd_notify(3)). */
export interface ServiceVariables {
  NOTIFY_SOCKET?: string | undefined
  WATCHDOG_USEC?: string | undefined
  WATCHDOG_PID?: string | undefined
}

/** Takes the variables out of the environment, so that no child speaks to the manager for this process. */
export function takeServiceVariables(environment: NodeJS.ProcessEnv = process.env): ServiceVariables {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = environment
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete environment[name]
  return { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID }
}
