import { ApiError } from '@boxyard/sdk'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import type { FileEntry, Ref } from '../../../api/records.ts'
import { sortNaturally } from '../../../ui/natural.ts'
import { type FilePlace, placeQuery } from './place.ts'

/** A path of a box, either now or in a snapshot. */
export interface FilesAt {
  box: Ref
  place: FilePlace
  snapshot: string | undefined
}

/** Returns the query of a read of that path. */
export function readQueryOf({ place, snapshot }: FilesAt): Record<string, string> {
  return { ...placeQuery(place), ...(snapshot === undefined ? {} : { snapshot }) }
}

export const statQuery = (at: FilesAt) =>
  queryOptions({
    queryKey: [...keyOf(at), 'stat'],
    queryFn: ({ signal }) => api().call('statFile', { path: pathOf(at), query: readQueryOf(at), signal }),
    staleTime: 0,
  })

/** The entries of a directory, a page of 1,000 after another. */
export const listQuery = (at: FilesAt) =>
  infiniteQueryOptions({
    queryKey: [...keyOf(at), 'list'],
    queryFn: ({ pageParam, signal }) => {
      const more = pageParam === null ? {} : { continuation_token: pageParam }
      const query = { ...readQueryOf(at), depth: 1, max_results: 1000, ...more }
      return api().call('listFiles', { path: pathOf(at), query, signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ has_more: hasMore, next_continuation_token: next }) => (hasMore ? next : null),
    staleTime: 0,
  })

/** The content of a file of at most 1 MiB. */
export const contentQuery = (at: FilesAt) =>
  queryOptions({
    queryKey: [...keyOf(at), 'content'],
    queryFn: ({ signal }) => {
      const headers = { accept: 'application/json' }
      return api().call('readFile', { path: pathOf(at), query: readQueryOf(at), headers, signal })
    },
    staleTime: 0,
    gcTime: 0,
  })

/** Returns the entries with the directories first, each in the order of their names. */
export function directoriesFirst(files: readonly FileEntry[]): FileEntry[] {
  const isDirectory = ({ type }: FileEntry): boolean => type === 'directory'
  const sorted = sortNaturally(files, ({ path }) => path)
  return [...sorted.filter(isDirectory), ...sorted.filter((file) => !isDirectory(file))]
}

/** Returns true for an error which says that a path does not exist. */
export function isFileGone(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'file_not_found' || error.code === 'not_a_directory')
}

function keyOf({ box, place, snapshot }: FilesAt): string[] {
  return ['files', box.project, box.name, snapshot ?? '', place.base64 ?? place.text]
}

function pathOf({ box: { project, name } }: FilesAt): Ref {
  return { project, name }
}

/** The longest file that the console shows, which is the limit of JSON. */
export const SHOWN_BYTES_MAX = 1024 * 1024
