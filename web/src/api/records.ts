import type { AnswerOf, ItemOf } from '@boxyard/sdk'

export type Box = AnswerOf<'getBox'>
export type Volume = AnswerOf<'getVolume'>
export type Me = AnswerOf<'getMe'>
export type Health = AnswerOf<'getHealth'>
export type Config = AnswerOf<'getConfig'>
export type StorageReport = AnswerOf<'getStorage'>
export type BoxMetrics = AnswerOf<'getBoxMetrics'>
export type BoxMetricsHistory = AnswerOf<'getBoxMetricsHistory'>
export type BoxSnapshot = ItemOf<'listBoxSnapshots'>
export type DiffChange = ItemOf<'diffBoxSnapshot'>
export type FileEntry = ItemOf<'listFiles'>
export type FileContent = AnswerOf<'readFile'>
export type ExecLine = ItemOf<'listExecs'>
export type ExecRecord = AnswerOf<'getExec'>
export type Service = AnswerOf<'getService'>
export type Token = ItemOf<'listTokens'>
export type AuditLine = AnswerOf<'listAudit'>['entries'][number]
export type VolumeSnapshot = ItemOf<'listVolumeSnapshots'>
export type Backup = ItemOf<'listBackups'>
export type Base = ItemOf<'listBases'>
export type Project = ItemOf<'listProjects'>

/** A box or volume by its name. */
export interface Ref {
  project: string
  name: string
}
