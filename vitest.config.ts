import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    projects: ['packages/*', 'tools/*', 'benchmarks/*', 'tests/*'],
    maxWorkers: '100%',
  },
});
export default config;
