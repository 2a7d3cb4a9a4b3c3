import type { Page } from 'playwright-core'

/** A horizontal stretch of a chart, with or without its line. `part` is its share of the width, from 0 to 1. */
export interface ChartStretch {
  hasLine: boolean
  part: number
}

/** Returns the chart's stretches on the screen, from left to right. Omits stretches of 1 % of the width or less. */
export async function readChart(page: Page, title: string): Promise<ChartStretch[]> {
  const columns = await page.evaluate<boolean[]>(`(${COLUMNS})(${JSON.stringify(title)})`)
  const stretches: { hasLine: boolean; count: number }[] = []
  for (const hasLine of columns) {
    const last = stretches.at(-1)
    if (last?.hasLine === hasLine) last.count++
    else stretches.push({ hasLine, count: 1 })
  }
  return stretches
    .map(({ hasLine, count }) => ({ hasLine, part: count / columns.length }))
    .filter(({ part }) => part > 0.01)
}

/** Returns for each pixel column between the axes whether it contains the line's colour. Source text, because it uses browser types. */
const COLUMNS = `(title) => {
  const figure = [...document.querySelectorAll('figure')].find(({ textContent }) => textContent.startsWith(title))
  const chart = figure?.querySelector('canvas')
  const plot = figure?.querySelector('.u-over')
  if (!chart || !plot) return []
  const scale = chart.width / chart.clientWidth
  const [left, top] = [Math.round(plot.offsetLeft * scale), Math.round(plot.offsetTop * scale)]
  const [width, height] = [Math.round(plot.clientWidth * scale), Math.round(plot.clientHeight * scale)]
  const { data } = chart.getContext('2d').getImageData(left, top, width, height)
  const sample = document.createElement('canvas').getContext('2d')
  sample.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--accent')
  sample.fillRect(0, 0, 1, 1)
  const colour = sample.getImageData(0, 0, 1, 1).data
  const isLine = (at) => data[at + 3] > 127 && [0, 1, 2].every((part) => Math.abs(data[at + part] - colour[part]) < 32)
  return Array.from({ length: width }, (_, x) =>
    Array.from({ length: height }, (_, y) => 4 * (y * width + x)).some(isLine))
}`
