/**
 * Completes variables given only by name with their values in this environment. Omits variables without a value, as docker does. A pure
 * function.
 */
export function withValues(variables: readonly string[], here: NodeJS.ProcessEnv): string[] {
  return variables.flatMap((variable) => {
    if (!NAME.test(variable)) return variable
    return here[variable] === undefined ? [] : `${variable}=${here[variable]}`
  })
}

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/
