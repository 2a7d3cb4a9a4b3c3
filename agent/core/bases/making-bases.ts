import { ServiceError } from '../../../shared/errors.ts'

/** The bases that are being made in the background, so that a delete of one ends that. */
export interface MakingBases {
  /** Counts one more; `signal` aborts when it is to end, `end` tells that it has. */
  enter(base: BaseName): { signal: AbortSignal; end(): void }
  /** Ends what is being made of that name, and resolves once it has ended; false if there is none. */
  cancel(base: BaseName): Promise<boolean>
}

export interface BaseName {
  /** Null: of all projects. */
  project: string | null
  name: string
}

/** None is being made; as many can be as may be under way. */
export function createMakingBases(): MakingBases {
  const making = new Set<BaseName & { controller: AbortController; ended: Promise<void> }>()
  return {
    enter: ({ project, name }) => {
      const { promise: ended, resolve } = Promise.withResolvers<void>()
      const entry = { project, name, controller: new AbortController(), ended }
      making.add(entry)
      return {
        signal: entry.controller.signal,
        end: () => {
          making.delete(entry)
          resolve()
        },
      }
    },
    cancel: async ({ project, name }) => {
      const found = [...making].filter((entry) => entry.project === project && entry.name === name)
      const why = new ServiceError('base_not_found', `The base "${name}" was deleted while it was made.`)
      for (const { controller } of found) controller.abort(why)
      await Promise.all(found.map(({ ended }) => ended))
      return found.length > 0
    },
  }
}
