import type { CallInput } from '../../sdk/typescript/src/calls.ts'
import { DATA_FLAG, SETTING_FLAGS, settingsFrom } from './box-settings.ts'
import { BOX_BRIEF, VOLUME_BRIEF } from './briefs.ts'
import { ENV_MAP, ENV_MAP_FLAGS, TAG_MAP, TAG_MAP_FLAGS, updateMaps } from './map-changes.ts'
import { callAndPrint, fieldsFrom, jsonFrom, requireChange } from './plain.ts'
import type { Verb } from './verb.ts'

const MERGES =
  'Variables and tags without a flag stay unchanged. If someone else changes the resource during the update, the command retries.'

const update: Verb = {
  words: 'update',
  args: '<box>',
  flags: [...SETTING_FLAGS, ...ENV_MAP_FLAGS, ...TAG_MAP_FLAGS, DATA_FLAG],
  summary: 'Change limits, environment, tags or URL settings of a box',
  details: MERGES,
  examples: [
    'boxyard update web --cpus 2 --ram-mb 1g',
    'boxyard update web --env LEVEL=debug --unset-env OLD --tag team=docs',
  ],
  operations: ['updateBox', 'getBox'],
  run: async (context, [name = ''], flags) => {
    requireChange('update', flags)
    const path = { project: context.project(), name }
    const given = settingsFrom(flags)
    await updateMaps(
      { maps: [ENV_MAP, TAG_MAP], flags, given },
      () => context.boxyard.callFully('getBox', { path }),
      (changed, headers) =>
        callAndPrint(context, 'updateBox', {
          input: { path, headers, body: { ...given, ...changed } },
          brief: BOX_BRIEF,
        }),
    )
  },
}

const updateVolume: Verb = {
  words: 'volume update',
  args: '<volume>',
  fills: { name: '<volume>' },
  flags: [['--size-gb <size>', 'size, such as 20g (a plain number is GiB)'], ...TAG_MAP_FLAGS, DATA_FLAG],
  summary: 'Change the size or tags of a data volume',
  details: MERGES.replace('Variables and tags', 'Tags'),
  examples: ['boxyard volume update db --size-gb 20g', 'boxyard volume update db --tag team=docs --unset-tag old'],
  operations: ['updateVolume', 'getVolume'],
  run: async (context, [name = ''], flags) => {
    requireChange('volume update', flags)
    const path = { project: context.project(), name }
    const given: CallInput<'updateVolume'>['body'] = {
      ...(typeof flags['data'] === 'string' ? jsonFrom(flags['data']) : {}),
      ...fieldsFrom(['size_gb:gib'], flags),
    }
    await updateMaps(
      { maps: [TAG_MAP], flags, given },
      () => context.boxyard.callFully('getVolume', { path }),
      (changed, headers) =>
        callAndPrint(context, 'updateVolume', {
          ...{ input: { path, headers, body: { ...given, ...changed } }, brief: VOLUME_BRIEF },
        }),
    )
  },
}

/** The commands that change existing resources. */
export const UPDATE_VERBS: readonly Verb[] = [update, updateVolume]
