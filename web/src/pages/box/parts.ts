import { lazyPage } from '../../shell/page-files.ts'

/** The parts of a box with separate pages, by the end of their paths. */
export const BOX_PARTS = [
  ['/files', lazyPage(() => import('./files/files.tsx'), 'FilesPage')],
  ['/snapshots', lazyPage(() => import('./snapshots/snapshots.tsx'), 'SnapshotsPage')],
  ['/commands', lazyPage(() => import('./commands/commands.tsx'), 'CommandsPage')],
  ['/services', lazyPage(() => import('./services/services.tsx'), 'ServicesPage')],
  ['/activity', lazyPage(() => import('./activity.tsx'), 'BoxActivity')],
] as const
