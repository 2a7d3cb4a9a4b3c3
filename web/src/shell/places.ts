import {
  Activity,
  Boxes,
  Database,
  FolderKanban,
  Gauge,
  HardDrive,
  KeyRound,
  Layers,
  ScrollText,
  SlidersHorizontal,
} from 'lucide-react'
import type { Rights } from './rights.ts'

/** A page in the navigation and the palette. */
export interface NavigationEntry {
  to: string
  name: string
  icon: typeof Boxes
  /** Pages of one group stand together. */
  group: 'work' | 'people' | 'history' | 'host'
  /** Whether the session can see it. */
  isFor(rights: Rights): boolean
}

const readers = ({ canRead }: Rights): boolean => canRead

/** All pages, in their order. */
export const PLACES: readonly NavigationEntry[] = [
  { to: '/', group: 'work', name: 'Overview', icon: Gauge, isFor: () => true },
  { to: '/boxes', group: 'work', name: 'Boxes', icon: Boxes, isFor: readers },
  { to: '/volumes', group: 'work', name: 'Volumes', icon: Database, isFor: readers },
  { to: '/bases', group: 'work', name: 'Bases', icon: Layers, isFor: readers },
  { to: '/projects', group: 'people', name: 'Projects', icon: FolderKanban, isFor: readers },
  { to: '/tokens', group: 'people', name: 'Tokens', icon: KeyRound, isFor: () => true },
  { to: '/activity', group: 'history', name: 'Activity', icon: Activity, isFor: readers },
  { to: '/audit', group: 'history', name: 'Audit', icon: ScrollText, isFor: ({ isAdmin }) => isAdmin },
  { to: '/storage', group: 'host', name: 'Storage', icon: HardDrive, isFor: ({ isAdmin }) => isAdmin },
  { to: '/settings', group: 'host', name: 'Settings', icon: SlidersHorizontal, isFor: () => true },
]

/** The groups of pages, in their order. */
export const PLACE_GROUPS = ['work', 'people', 'history', 'host'] as const
