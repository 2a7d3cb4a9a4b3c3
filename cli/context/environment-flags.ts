/**
 * Completes variables that are given by name alone with their values in the environment here, and leaves out those that have none, as
 * docker does. A pure function.
 */
export function withValues(variables: readonly string[], here: NodeJS.ProcessEnv): string[] {
  return variables.flatMap((variable) => {
    if (!NAME.test(variable)) return variable
    return here[variable] === undefined ? [] : `${variable}=${here[variable]}`
  })
}

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/
