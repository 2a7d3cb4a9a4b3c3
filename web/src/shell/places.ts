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

/** A page that the navigation and the palette lead to. */
export interface NavigationEntry {
  to: string
  name: string
  icon: typeof Boxes
  /** Whether the session may see it. */
  isFor(rights: Rights): boolean
}

const readers = ({ canRead }: Rights): boolean => canRead

/** All pages, in their order. */
export const PLACES: readonly NavigationEntry[] = [
  { to: '/', name: 'Overview', icon: Gauge, isFor: () => true },
  { to: '/boxes', name: 'Boxes', icon: Boxes, isFor: readers },
  { to: '/volumes', name: 'Volumes', icon: Database, isFor: readers },
  { to: '/bases', name: 'Bases', icon: Layers, isFor: readers },
  { to: '/projects', name: 'Projects', icon: FolderKanban, isFor: readers },
  { to: '/events', name: 'Events', icon: Activity, isFor: readers },
  { to: '/storage', name: 'Storage', icon: HardDrive, isFor: ({ isAdmin }) => isAdmin },
  { to: '/tokens', name: 'Tokens', icon: KeyRound, isFor: () => true },
  { to: '/audit', name: 'Audit', icon: ScrollText, isFor: ({ isAdmin }) => isAdmin },
  { to: '/settings', name: 'Settings', icon: SlidersHorizontal, isFor: () => true },
]
