import { parse } from 'yaml'

/** The only job of a GitHub workflow, with the fields read here. */
interface Job {
  if?: string
  env?: Record<string, string>
  steps: { if?: string; run?: string; uses?: string }[]
}

/** Reads the workflow in the ```yaml block of a page. */
export function readWorkflow(page: string): Job {
  const text = /^```yaml\n([^]*?)^```$/m.exec(page)?.[1] ?? ''
  const { jobs } = parse(text) as { jobs: Record<string, Job> }
  const [job, ...more] = Object.values(jobs)
  if (job === undefined || more.length > 0) throw new Error('The workflow has not exactly one job.')
  return job
}

/**
 * Returns the scripts that GitHub would run, with the values of expressions such as `github.event.number`. The caller sets variables and
 * secrets (`vars.…`, `secrets.…`, `github.token`). Leaves out `uses` steps.
 */
export function stepsOf(job: Job, values: Readonly<Record<string, string>>): string[] {
  const resolve = (text: string): string =>
    text.replaceAll(/\$\{\{ (\S+) \}\}/g, (_, name: string) => {
      const value = values[name]
      if (value === undefined) throw new Error(`The workflow uses ${name}, which has no value.`)
      return value
    })
  const holds = (condition: string | undefined): boolean => {
    if (condition === undefined || condition === 'always()') return true
    const [, left = '', operator, literal, name = ''] = /^(\S+) ([!=]=) (?:'(.*)'|(\S+))$/.exec(condition) ?? []
    if (operator === undefined) throw new Error(`The condition ${condition} is not understood.`)
    return (values[left] === (literal ?? values[name])) === (operator === '==')
  }
  if (!holds(job.if)) return []
  const settings = Object.entries(job.env ?? {}).filter(([, value]) => !OUTSIDE.test(value))
  const env = settings.map(([name, value]) => `export ${name}='${resolve(value)}'`)
  const steps = job.steps.filter((step) => step.run !== undefined && holds(step.if))
  return steps.map(({ run = '' }) => [...env, resolve(run)].join('\n'))
}

const OUTSIDE = /\$\{\{ (vars\.|secrets\.|github\.token)/
