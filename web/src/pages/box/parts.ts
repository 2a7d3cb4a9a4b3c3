import { lazyRouteComponent } from '@tanstack/react-router'

/** The parts of a box that have pages of their own, by the end of their paths. */
export const BOX_PARTS = [
  ['/files', lazyRouteComponent(() => import('./files/files.tsx'), 'FilesPage')],
  ['/snapshots', lazyRouteComponent(() => import('./snapshots/snapshots.tsx'), 'SnapshotsPage')],
  ['/commands', lazyRouteComponent(() => import('./commands/commands.tsx'), 'CommandsPage')],
  ['/services', lazyRouteComponent(() => import('./services/services.tsx'), 'ServicesPage')],
] as const
