import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useMemo } from 'react'
import { boxesQuery, volumesQuery } from '../api/queries.ts'
import type { Box, Ref, Volume } from '../api/records.ts'
import { sortNaturally } from '../ui/natural.ts'
import type { PaletteEntry } from './palette-search.ts'
import { PLACES } from './places.ts'
import { startBoxes, stopBoxes } from './power.ts'
import { type Rights, useRights } from './rights.ts'
import { chooseTheme, type Theme } from './theme.ts'

/** Returns all entries of the palette: actions of the open page first, then pages, boxes, volumes and other commands. */
export function usePaletteEntries(): PaletteEntry[] {
  const rights = useRights()
  const params: unknown = useParams({ strict: false })
  const { project, name } = params as Partial<Ref>
  const { data: boxes } = useQuery({ ...boxesQuery, enabled: rights.canRead })
  const { data: volumes } = useQuery({ ...volumesQuery, enabled: rights.canRead })
  return useMemo(() => {
    const open = boxes?.find((box) => box.project === project && box.name === name)
    const pages = PLACES.filter((place) => place.isFor(rights)).map(({ to, name: page }) => linkTo(to, page, 'page'))
    return [
      ...(open && location.pathname.startsWith('/boxes/') ? ofOpenBox(open, rights) : []),
      ...pages,
      ...creations(rights),
      ...sortNaturally(boxes ?? [], nameOf).flatMap((box) => ofBox(box, rights)),
      ...sortNaturally(volumes ?? [], nameOf).map(ofVolume),
      ...themes(),
    ]
  }, [rights, boxes, volumes, project, name])
}

/** Returns the actions and tabs of the open box. */
function ofOpenBox(box: Box, { canExec, canWrite }: Rights): PaletteEntry[] {
  const path = pathOf('boxes', box)
  const parts = PARTS.filter(({ isExec }) => canExec || !isExec)
  return [
    ...(canWrite && box.status === 'running' ? [command(`Stop ${nameOf(box)}`, () => void stopBoxes([box]))] : []),
    ...(canWrite && box.status === 'stopped' ? [command(`Start ${nameOf(box)}`, () => void startBoxes([box]))] : []),
    ...parts.map(({ end, words }) => linkTo(`${path}${end}`, `${words} of ${nameOf(box)}`, 'tab')),
  ]
}

function creations({ canWrite, canRead }: Rights): PaletteEntry[] {
  const made = [
    linkTo('/boxes?create=box', 'Create box', 'command'),
    linkTo('/volumes?dialog=create', 'Create volume', 'command'),
    linkTo('/bases?dialog=make', 'Create base', 'command'),
  ]
  return [...(canWrite && canRead ? made : []), linkTo('/tokens?dialog=create', 'Create token', 'command')]
}

function ofBox(box: Box, { canExec }: Rights): PaletteEntry[] {
  const path = pathOf('boxes', box)
  const terminal = canExec ? [linkTo(`${path}/terminal`, `${nameOf(box)} terminal`, 'terminal')] : []
  return [linkTo(path, nameOf(box), 'box'), ...terminal]
}

function ofVolume(volume: Volume): PaletteEntry {
  return linkTo(pathOf('volumes', volume), nameOf(volume), 'volume')
}

function themes(): PaletteEntry[] {
  return (['system', 'light', 'dark'] satisfies Theme[]).map((theme) =>
    command(`Theme: ${theme}`, () => chooseTheme(theme)),
  )
}

function linkTo(href: string, name: string, kind: string): PaletteEntry {
  return { href, name, kind }
}

function command(name: string, act: () => void): PaletteEntry {
  return { href: null, name, kind: 'command', act }
}

function pathOf(kind: 'boxes' | 'volumes', { project, name }: Ref): string {
  return `/${kind}/${project}/${name}`
}

function nameOf({ project, name }: Ref): string {
  return `${project}/${name}`
}

const PARTS = [
  { end: '', words: 'Overview', isExec: false },
  { end: '/files', words: 'Files', isExec: false },
  { end: '/snapshots', words: 'Snapshots', isExec: false },
  { end: '/services', words: 'Services', isExec: false },
  { end: '/commands', words: 'Commands', isExec: true },
  { end: '/activity', words: 'Activity', isExec: false },
] as const
