import { useSuspenseQuery } from '@tanstack/react-query'
import { meQuery } from '../api/queries.ts'

/** The permissions of the session, so that no page requests what they do not allow. */
export interface Rights {
  canRead: boolean
  canWrite: boolean
  canExec: boolean
  isAdmin: boolean
  /** Whether it is for all projects. */
  isOfAll: boolean
  /** The projects of the session. Empty for all. */
  projects: readonly string[]
  name: string
}

/** Returns the permissions of the session. */
export function useRights(): Rights {
  const { data } = useSuspenseQuery(meQuery)
  const may = new Set<string>(data.permissions)
  const isOfAll = data.projects === '*'
  return {
    canRead: may.has('read'),
    canWrite: may.has('write'),
    canExec: may.has('exec'),
    isAdmin: may.has('admin'),
    isOfAll,
    projects: data.projects === '*' ? [] : data.projects,
    name: data.name,
  }
}
