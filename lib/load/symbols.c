#include "lib/load/symbols.h"

#include <fnmatch.h>
#include <linux/perf_event.h>

/*
 * The functions of each group: glob(7) patterns, of which the first that matches counts.  Compilers append .cold,
 * .isra.0 and the like to names, which patterns do not see.  A pattern in brackets is about the module.
 */
static const struct {
	enum profile_group group;
	const char *patterns;
} groups[] = {
	/* Helpers of all, and where interrupts come on again: with a timer what ran before is seen there. */
	{PROFILE_CALLER,
	 "_raw_*lock _raw_*lock_bh _raw_*lock_irq _raw_*lock_irqsave _raw_*lock_irqrestore _raw_spin_trylock* "
	 "pv*_irq_enable pv*_irq_disable pv*_save_fl pv*_restore_fl pvm_irq_* __raw_callee_save_* native_irq_* "
	 "rcu_read_* __rcu_read_* rcu_* __rcu_* call_rcu* memset* __memset* memcmp* __list_* "
	 "refcount_* __local_bh_* local_bh_* preempt_count_* __preempt_count_* percpu_ref_* "
	 "lock_acquire* lock_release* mutex_lock* mutex_unlock* down_read* up_read* down_write* up_write* "
	 "mutex_trylock __fentry__ __x86_indirect_* __x86_return_thunk "
	 "retbleed_* srso_* ktime_get* read_tsc kvm_clock_* pvclock_* sched_clock* local_clock* "
	 "find_next_bit* _find_* debug_* hash_* __init_waitqueue_head prandom_* get_random_*"},
	{PROFILE_COPY,
	 "_copy_to_iter _copy_from_iter* copy_to_iter* copy_from_iter* _copy_to_user _copy_from_user copy_user_* "
	 "rep_movs_* __copy_user* __arch_copy_* copy_page copy_page_to_iter* copy_page_from_iter* "
	 "copy_mc_* skb_copy_* __skb_datagram_iter simple_copy_to_iter memcpy* __memcpy* memmove* "
	 "__memmove* __pi_memcpy* csum_partial* csum_and_copy_* __skb_checksum skb_checksum* "
	 "copy_from_user_* copy_to_user_* clear_user* __clear_user* rep_stos_* iov_iter_* "
	 "memcpy_orig fault_in_readable fault_in_iov_iter_*"},
	{PROFILE_LOCKS,
	 "*queued_spin_lock_slowpath *queued_read_lock_slowpath *queued_write_lock_slowpath "
	 "__mutex_lock* mutex_spin_on_owner mutex_optimistic* osq_lock osq_unlock rwsem_* "
	 "__rwsem* __lock_sock __pv_queued_* __pv_kick* percpu_rwsem*"},
	/* Before the filters: bpf_exec_tx_verdict sends every record. */
	{PROFILE_CRYPTO,
	 "tls_* bpf_exec_tx_verdict crypto_* gcm* aes* *_aes_* *ghash* gf128mul_* chacha* hchacha_* *poly1305* poly_* "
	 "aead_* skcipher_* scatterwalk_* rfc4106_* rfc7539_* seqiv_* [tls]"},
	{PROFILE_FILTERS,
	 "nf_* nft_* ipt_* xt_* ebt_* nfnetlink* __nf_* ip_vs_* bpf_* __bpf_* ___bpf_* "
	 "sk_filter* apparmor_* selinux_* security_* smack_* tomoyo_* aa_* tcf_* cls_* __cgroup_bpf_* "
	 "seccomp_* __seccomp_* __secure_computing audit_* __audit_* hook_* landlock_* "
	 "[nf_*] [nft_*] [xt_*] [ip_tables] [x_tables] [bpf] [bpfilter]"},
	{PROFILE_TCP,
	 "tcp_* __tcp_* tcp4_* tcp6_* tcp_v4_* tcp_v6_* ip_* __ip_* ip6_* ipv6_* ipv4_* inet_* "
	 "inet6_* __inet* raw_v4_* raw_local_* udp_* __udp* udp4_* udp6_* ping_* icmp* igmp* ndisc_* "
	 "neigh_* arp_* fib_* fib6_* rt_dst* rt_set* rt6_* dst_* sock_* __sock_* sk_* __sk_* release_sock bictcp_* "
	 "cubictcp_* bbr_* dctcp_* reno_* mptcp_* __mptcp_* xfrm_* __release_sock lock_sock* "
	 "kernel_sendmsg kernel_recvmsg ____sys_sendmsg ____sys_recvmsg ___sys_* __sys_sendto "
	 "__sys_recvfrom __sys_sendmsg __sys_recvmsg __x64_sys_send* __x64_sys_recv* "
	 "sockfd_* move_addr_* import_iovec __import_iovec csum_* secure_* siphash* __siphash* "
	 "lookup_reuseport* reuseport_* packet_* unix_*"},
	{PROFILE_SKB,
	 "skb_* __skb_* ___skb_* alloc_skb* __alloc_skb kfree_skb* __kfree_skb* kfree_skbmem consume_skb "
	 "__consume_* __napi_alloc_* napi_alloc_* napi_build_* napi_skb_* napi_consume_skb napi_get_* "
	 "build_skb* __build_skb* slab_build_skb pskb_* __pskb_* kmalloc_reserve page_pool_* "
	 "__page_pool_* page_frag_* __page_frag_* __netdev_alloc_* netdev_alloc_* net_zcopy_* "
	 "msg_zerocopy_* sendpage_* linear_to_page splice_to_socket zerocopy_* mm_account_pinned_pages"},
	{PROFILE_DEVICE,
	 "net_rx_action net_tx_action napi_* __napi_* gro_* dev_* __dev_* netif_* __netif_* "
	 "process_backlog enqueue_to_backlog netdev_* __netdev_* xmit_* sch_* qdisc_* __qdisc_* "
	 "pfifo_* fq_* tbf_* mq_* htb_* loopback_* veth_* br_* bridge_* macvlan_* ipvlan_* vlan_* "
	 "__vlan_* tun_* tap_* validate_xmit_* eth_* bond_* virtnet_* virtqueue_* vring_* vp_* "
	 "detach_buf_* virtio_* vhost_* xdp_* __xdp_* generic_xdp_* dma_* swiotlb_* __iommu_* iommu_* "
	 "e1000* igb_* igc_* ixgbe* i40e_* ice_* mlx4_* mlx5* bnxt_* ena_* gve_* tg3_* r8169_* rtl* "
	 "nfp_* qede_* sfc_* efx_* atl* hns3_* hv_netvsc* netvsc_* vmxnet3_* rps_* __rps_* xps_* "
	 "flow_* __skb_flow_* __skb_get_hash* [veth] [tun] [bridge] [virtio_net] [sch_*] [act_*]"},
	{PROFILE_URING, "io_* __io_* __do_sys_io_uring* __x64_sys_io_uring*"},
	{PROFILE_MEMORY,
	 "kmem_* __kmem_* kmalloc* __kmalloc* kfree* __kfree* kvfree* kvmalloc* slab_* __slab_* ___slab_* "
	 "new_slab* allocate_slab discard_slab get_page_from_freelist get_any_partial get_partial* put_cpu_partial* __put_partials "
	 "__alloc_* alloc_pages* alloc_* free_* __free_* rmqueue* __rmqueue* prep_new_* prep_compound* post_alloc_hook "
	 "clear_page* clear_huge_page* folio_* __folio_* lru_* __lru_* release_pages* put_page* "
	 "__page_cache_release page_counter_* page_vma_* *mem_cgroup* *memcg_* try_charge* obj_cgroup_* *objcg* refill_* "
	 "consume_* drain_* "
	 "handle_mm_fault __handle_mm_fault *_fault *_page_fault* do_user_addr_fault exc_page_fault "
	 "asm_exc_page_fault do_anonymous_page* do_wp_page* wp_page_copy* pin_user_* __pin_user_* "
	 "unpin_user_* gup_* __gup_* get_user_pages* follow_page* internal_get_user_* follow_* "
	 "tlb_* flush_tlb_* native_flush_* arch_tlb* unmap_* zap_* vma_* mas_* mt_* mmap_* do_mmap* "
	 "native_set_p* ptep_* pte_* __pte_* pmd_* pud_* __pti_set_* set_pte* vm_* __vm_* insert_page* "
	 "__mod_* mod_*state* mod_lruvec* __count_* *_page_state *_zone_state shrink_* compact* "
	 "copy_present_* dup_mm* copy_page_range* mm_* "
	 "fragment_* find_vma* lock_vma_* check_heap_object __check_object_size __check_heap_object "
	 "kasan_* kmsan_* kfence_* numa_*"},
	{PROFILE_FILES,
	 "filemap_* __filemap_* generic_file_* generic_perform_write shmem_* vfs_* ksys_read ksys_write "
	 "ksys_pread* ksys_pwrite* new_sync_* ext4_* __ext4_* xfs_* btrfs_* nfs_* ovl_* fuse_* iomap_* "
	 "blk_* __blk_* bio_* submit_bio* nvme_* scsi_* splice_* __splice_* do_splice* direct_splice* "
	 "iter_file_splice* sendfile* do_sendfile pipe_* anon_pipe_* pagecache_* page_cache_* "
	 "xas_* __xas_* xa_* find_get_* next_uptodate_* readahead_* ondemand_* read_pages "
	 "touch_atime atime_* fget* __fget* fput* __fput* fdget* __fdget* file_* do_sys_open* do_filp_* "
	 "path_* link_path_* d_* __d_* dput lookup_* kernfs_* proc_* seq_* rw_verify_area "
	 "__x64_sys_read __x64_sys_write __x64_sys_pread* __x64_sys_pwrite* __x64_sys_sendfile* __x64_sys_splice "
	 "do_iter_* do_readv* do_writev* __do_sys_sendfile* inode_* mark_page_* fsnotify* __fsnotify* "
	 "eventfd_* close_* filp_* copy_splice_* do_dentry_* [ext4] [xfs] [btrfs] [nfs] [overlay] [fuse]"},
	{PROFILE_SCHEDULER,
	 "schedule* __schedule preempt_schedule* *_task_fair *_entity *_entity_fair try_to_wake_up "
	 "ttwu_* wake_up* __wake_up* default_wake_* autoremove_wake_* pollwake ep_* *epoll* "
	 "poll_* do_poll* do_sys_poll __x64_sys_poll __x64_sys_ppoll do_select* core_sys_select "
	 "futex_* __futex_* do_futex __x64_sys_futex finish_task_switch* __switch_to* switch_mm* "
	 "switch_fpu* pick_* __pick_* put_prev_* set_next_* enqueue_* dequeue_* __enqueue_* __dequeue_* "
	 "select_task_* select_idle_* available_idle_* activate_task deactivate_task update_* __update_* "
	 "check_preempt_* wakeup_preempt* resched_* sched_* __sched_* load_balance* sched_balance_* "
	 "newidle_* reweight_* place_entity avg_vruntime* min_vruntime* cpuacct_* psi_* rb_* __rb_* "
	 "prepare_to_wait* finish_wait add_wait_queue remove_wait_queue task_* __task_rq_lock "
	 "nohz_* hrtick_* hrtimer_nanosleep do_nanosleep __x64_sys_*nanosleep common_nsleep* "
	 "wait_* __wait_* do_wait kick_process native_smp_send_* x2apic_send_* smp_call_* "
	 "llist_* kthread* worker_* process_one_work queue_work* __queue_work* insert_work "
	 "dl_* rt_mutex* set_task_cpu migrate_* yield_* do_sched_yield raw_spin_rq_* "
	 "prepare_task_switch* perf_event_task_* __perf_event_task_* perf_* __perf_* ctx_* "
	 "vtime_* calc_* __calc_* vruntime_* cgroup_* "
	 "call_function_single* __flush_smp_call_* flush_smp_call_* sched_ttwu_* generic_smp_call_* __smp_call_*"},
	{PROFILE_INTERRUPTS,
	 "asm_sysvec_* sysvec_* __sysvec_* asm_common_interrupt common_interrupt* __common_interrupt "
	 "irq_* __irq_* irqentry_* handle_irq* handle_edge_* handle_fasteoi_* __handle_irq* do_IRQ "
	 "handle_softirqs* __do_softirq do_softirq* __do_softirq* invoke_softirq run_ksoftirqd* "
	 "raise_softirq* __raise_softirq* tasklet_* hrtimer_* __hrtimer_* timer_* __timer_* "
	 "run_timer_* __run_timer* call_timer_* expire_timers* mod_timer* __mod_timer* del_timer* "
	 "timekeeping_* tick_* clockevents_* lapic_* apic_* native_apic_* x2apic_* kvm_guest_apic_* "
	 "enter_lazy_* el1_interrupt el1h_* gic_* arch_timer_* ack_* msi_* do_timer* get_next_timer* "
	 "lock_timer_* detach_timer* enqueue_timer* __get_next_* "
	 "process_timeout* it_real_* posix_cpu_* run_posix_* account_* *_update_time "
	 "run_irq_* scheduler_tick"},
	/* Last, and only where no function that is in no group stands between. */
	{PROFILE_ENTRY,
	 "entry_* do_syscall_* syscall_* __syscall_* x64_sys_call ia32_* el0* invoke_syscall* "
	 "exit_to_user_mode* __x64_sys_getppid __do_sys_getppid __ia32_sys_* do_el0_* __task_pid_nr_ns "
	 "fpregs_* restore_fpregs_* ret_from_fork* switch_to_user* pvm_* __x64_sys_getpid "
	 "sys_getppid __arm64_sys_getppid ptrace_* task_work_* int3 error_* paranoid_* native_irq_return* "
	 "common_interrupt_return swapgs_* __get_user_* __put_user_* "
	 "__x64_sys_* __arm64_sys_* __se_sys_* __do_sys_*"},
};

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* Adds the function that a line names, if it is one: `ffffffff81000000 T name`, perhaps with `[module]`. */
static void add_line(struct symbols *s, char *line)
{
	char *end, *name, *module;
	struct symbol one = {.address = strtoull(line, &end, 16), .group = PROFILE_UNSEEN};

	if (one.address == 0 || end[0] != ' ' || end[1] == '\0' || strchr("tTwW", end[1]) == NULL ||
	    end[2] != ' ')
		return;
	name = end + 3;
	module = strchr(name, '\t');
	if (module != NULL)
		*module++ = '\0';
	one.name = name;
	one.module = module;
	s->symbol[s->n++] = one;
}

const char *symbols_read(struct symbols *s, FILE *f)
{
	char *rest, *line, *c;
	size_t size = 0, lines = 1;

	*s = (struct symbols){.n = 0};
	if (f == NULL)
		return "/proc/kallsyms";
	if (getdelim(&s->text, &size, '\0', f) > 0) {
		for (c = s->text; *c != '\0'; c++)
			lines += *c == '\n';
		s->symbol = alloc_or_die(lines, sizeof(*s->symbol), "the kernel's functions");
		for (rest = s->text; (line = strsep(&rest, "\n")) != NULL;)
			add_line(s, line);
	}
	fclose(f);
	if (s->n == 0) {
		symbols_free(s);
		return "/proc/kallsyms has no addresses";
	}
	qsort(s->symbol, s->n, sizeof(*s->symbol), by_address);
	return NULL;
}

void symbols_free(struct symbols *s)
{
	free(s->text);
	free(s->symbol);
	*s = (struct symbols){.n = 0};
}

/* The last function that begins at or below an address; NULL if there is none. */
static struct symbol *find(const struct symbols *s, uint64_t address)
{
	size_t low = 0, high = s->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (s->symbol[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &s->symbol[low - 1] : NULL;
}

/* The group of the first pattern that a function matches. */
static enum profile_group look_up(const struct symbol *one)
{
	char name[256], pattern[64];
	enum profile_group group = PROFILE_UNKNOWN;
	const char *module = one->module != NULL ? one->module + 1 : "", *next;
	bool is_module;
	size_t i;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(one->name, "."), one->name);
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]) && group == PROFILE_UNKNOWN; i++) {
		for (next = groups[i].patterns; *next != '\0'; next += strspn(next, " ")) {
			is_module = *next == '[';
			next += is_module;
			snprintf(pattern, sizeof(pattern), "%.*s", (int)strcspn(next, " "), next);
			next += strcspn(next, " ");
			if (fnmatch(pattern, is_module ? module : name, 0) == 0)
				group = groups[i].group;
		}
	}
	return group;
}

static bool is_address(uint64_t word)
{
	return word < (uint64_t)PERF_CONTEXT_MAX;
}

/* The function of the i-th word of a chain; NULL if it is none. */
static struct symbol *function_at(const struct symbols *s, const uint64_t *chain, size_t i)
{
	/* The address behind a call may be the next function's. */
	const bool is_behind = i > 0 && is_address(chain[i - 1]);

	return is_address(chain[i]) ? find(s, chain[i] - is_behind) : NULL;
}

enum profile_group symbols_group(struct symbols *s, const uint64_t *chain, size_t n, bool soaker)
{
	enum profile_group first = PROFILE_UNSEEN;
	bool passed = false, kernel = false, displaced = false;
	struct symbol *one;
	size_t i;

	for (i = 0; i < n; i++) {
		kernel |= is_address(chain[i]);
		one = function_at(s, chain, i);
		if (one == NULL)
			continue;
		if (one->group == PROFILE_UNSEEN)
			one->group = look_up(one);
		displaced |= one->group == PROFILE_INTERRUPTS ||
			     strstr(one->name, "schedule") != NULL;
		if (first != PROFILE_UNSEEN || one->group == PROFILE_CALLER)
			continue;
		if (one->group == PROFILE_UNKNOWN)
			passed = true;
		else
			first = one->group == PROFILE_ENTRY && passed ? PROFILE_OTHER : one->group;
	}
	if (soaker && !displaced)
		return PROFILE_IDLE;
	if (!kernel)
		return PROFILE_USER;
	return first != PROFILE_UNSEEN ? first : PROFILE_OTHER;
}
